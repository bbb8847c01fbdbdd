#include "stager/spec/amount.h"

#include <catch2/catch.hpp>

using namespace stage;

TEST_CASE("an amount has the unit that fits it") {
    CHECK(amount_text(0) == "0 bytes");
    CHECK(amount_text(1) == "1 byte");
    CHECK(amount_text(999) == "999 bytes");
    CHECK(amount_text(1000) == "1.0 KB");
    CHECK(amount_text(40'000) == "40.0 KB");
    CHECK(amount_text(999'949) == "999.9 KB");
    CHECK(amount_text(999'950) == "1.0 MB");
    CHECK(amount_text(40'000'000) == "40.0 MB");
    CHECK(amount_text(1'500'000'000) == "1.5 GB");
    CHECK(amount_text(18'000'000'000'000'000'000U) == "18000.0 PB");
}

TEST_CASE("space on a disk is printed in powers of 1024") {
    CHECK(binary_amount_text(0) == "0 bytes");
    CHECK(binary_amount_text(1023) == "1023 bytes");
    CHECK(binary_amount_text(1536) == "1.5 KiB");
    CHECK(binary_amount_text(5ULL << 40U) == "5.0 TiB");
}

TEST_CASE("a rate says how long the rest takes, whatever is claimed to be left") {
    CHECK(rate_text(3'100'000.0, 68'200'000) == "3.1 MB/s, 22 s to go");
    CHECK(rate_text(0.001, ~std::uint64_t{0}) == "0 bytes/s, 1000000000 s to go");
}

TEST_CASE("one thing has no plural") {
    CHECK(count_text(1, "node") == "1 node");
    CHECK(count_text(0, "node") == "0 nodes");
    CHECK(count_text(3, "file") == "3 files");
}
