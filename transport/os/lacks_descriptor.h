// Tells whether a call failed because no descriptor was free.
#pragma once

#include <cerrno>

namespace stage {

/// True for the errno of a call that found no descriptor free in the process or on the host, or
/// no memory for one. It may succeed a moment later, and what it was called for still waits.
[[nodiscard]] constexpr bool lacks_descriptor(int cause) {
    return cause == EMFILE || cause == ENFILE || cause == ENOBUFS || cause == ENOMEM;
}

}  // namespace stage
