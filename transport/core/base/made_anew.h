// Makes an object anew in its place.
//
// A core whose packets become smaller begins anew with all its parts, which refer to each other
// and so cannot be assigned. Pointers and references to the object and to its members name the
// new ones (C++20, [basic.life] 8).
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace stage::core {

/// Ends `object` and constructs another one of its type there. The arguments are copies:
/// nothing may be a reference into the object.
template <class Object, class... Arguments>
requires std::is_final_v<Object>
void make_anew(Object& object, Arguments... arguments) {
    std::destroy_at(&object);
    std::construct_at(&object, std::move(arguments)...);
}

}  // namespace stage::core
