// Calls a fuzz target from libFuzzer.
#include "tests/fuzz/fuzz.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name for it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static_cast<void>(stage::fuzz_one(std::as_bytes(std::span{data, size})));
    return 0;
}
