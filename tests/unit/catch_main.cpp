// The one slow file of the unit tests: Catch2 itself, with its main. Compiled once.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
