// What almost every unit test includes, compiled once for all of them (Makefile). A test names
// what it uses all the same.
#pragma once

#include "etc/precompiled.h"

#include <catch2/catch.hpp>
