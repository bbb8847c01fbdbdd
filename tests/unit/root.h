// Tells a test that needs root whether it can be made.
#pragma once

#include <catch2/catch.hpp>

#include <unistd.h>

namespace stage {

/// False, and a line in the output, where the rest of the test is skipped. Such a test case has
/// the tag [root].
inline bool is_root() {
    if (::geteuid() != 0) {
        WARN("skipped: needs root");
        return false;
    }
    return true;
}

}  // namespace stage
