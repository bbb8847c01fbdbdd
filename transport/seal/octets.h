// Converts bytes and lengths to the types of C libraries.
#pragma once

#include "transport/base/units.h"

namespace stage::seal {

inline const unsigned char* octets(Bytes bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

inline unsigned char* octets(MutableBytes bytes) {
    return reinterpret_cast<unsigned char*>(bytes.data());
}

inline int length(Bytes bytes) {
    return static_cast<int>(bytes.size());
}

}  // namespace stage::seal
