#include "transport/run/own_memory.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>

namespace stage {
namespace {

TEST_CASE("memory counts once it is touched") {
    constexpr std::size_t kBytes = 64U << 20U;
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(kBytes);
    const std::uint64_t before = own_memory_bytes();
    REQUIRE(before > 0);
    std::fill_n(buffer.get(), kBytes, std::byte{1});
    const std::uint64_t after = own_memory_bytes();
    CHECK(after >= before + kBytes / 2);  // (the kernel may count a little late)
    CHECK(buffer[kBytes - 1] == std::byte{1});
}

}  // namespace
}  // namespace stage
