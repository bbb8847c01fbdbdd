// The environment variables of the simulator.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace stage::sim {

/// The variable's value, or null. Only one thread reads the environment, and none changes it.
[[nodiscard]] inline const char* variable(const char* name) {
    return std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
}

[[nodiscard]] inline std::uint64_t number_of(const char* name, std::uint64_t standard) {
    const char* text = variable(name);
    return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 10) : standard;
}

}  // namespace stage::sim
