// Takes a test's process the descriptors that it might open.
#pragma once

#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <unistd.h>

namespace stage {

/// While this exists the process has `free` descriptors left: 0 or 1.
class Scarce {
  public:
    explicit Scarce(rlim_t free) {
        REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
        const int lowest = ::dup(0);
        REQUIRE(lowest >= 0);
        ::close(lowest);
        const rlimit scarce{.rlim_cur = static_cast<rlim_t>(lowest) + free,
                            .rlim_max = before_.rlim_max};
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &scarce) == 0);
    }
    Scarce(const Scarce&) = delete;
    Scarce& operator=(const Scarce&) = delete;
    ~Scarce() { static_cast<void>(::setrlimit(RLIMIT_NOFILE, &before_)); }

  private:
    rlimit before_{};
};

}  // namespace stage
