#include "transport/run/object/own_memory.h"

#include <catch2/catch.hpp>

#include <sys/mman.h>

#include <algorithm>

namespace stage {
namespace {

TEST_CASE("memory counts once it is touched") {
    constexpr std::size_t kBytes = 64U << 20U;
    // From the kernel: what the heap has free may have been touched by an earlier test.
    void* const fresh =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(fresh != MAP_FAILED);
    auto* const buffer = static_cast<std::byte*>(fresh);
    const std::uint64_t before = own_memory_bytes();
    REQUIRE(before > 0);
    std::fill_n(buffer, kBytes, std::byte{1});
    const std::uint64_t after = own_memory_bytes();
    CHECK(after >= before + kBytes / 2);  // (the kernel may count a little late)
    CHECK(buffer[kBytes - 1] == std::byte{1});
    CHECK(::munmap(fresh, kBytes) == 0);
}

}  // namespace
}  // namespace stage
