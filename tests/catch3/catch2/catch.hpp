// Catch2 3 under the names of Catch2 2, which the tests use. The Makefile puts this folder on
// the path where Catch2 3 is installed; it has no header of this name. Only the parts that the
// tests use are included: catch_all.hpp takes far longer to compile.
#pragma once

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <catch2/matchers/catch_matchers_vector.hpp>

#include <string>

namespace Catch {
namespace Matchers {

inline StringContainsMatcher Contains(const std::string& part) {
    return ContainsSubstring(part);
}

}  // namespace Matchers

using namespace Matchers;

}  // namespace Catch

using Catch::Approx;
