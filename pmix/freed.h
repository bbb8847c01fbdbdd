// A unique_ptr for memory that a C library allocated with malloc().
#pragma once

#include <cstdlib>
#include <memory>

namespace stage {

struct Freed {
    void operator()(void* memory) const {
        // NOLINTNEXTLINE(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory)
        std::free(memory);
    }
};

template <class T>
using MallocPointer = std::unique_ptr<T, Freed>;

}  // namespace stage
