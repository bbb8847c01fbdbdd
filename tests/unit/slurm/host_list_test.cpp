#include "stager/slurm/host_list.h"

#include <catch2/catch.hpp>

using namespace stage;
using Names = std::vector<std::string>;

namespace {
Names expanded(std::string_view list) {
    auto names = expand_host_list(list);
    return names ? *names : Names{"refused"};
}
}  // namespace

TEST_CASE("Slurm's node lists, in their order") {
    CHECK(expanded("n0") == Names{"n0"});
    CHECK(expanded("n[0-2]") == Names{"n0", "n1", "n2"});
    CHECK(expanded("n[2,0-1],login") == Names{"n2", "n0", "n1", "login"});
    CHECK(expanded("n[08-11]x") == Names{"n08x", "n09x", "n10x", "n11x"});
    CHECK(expanded("r[0-1]n[3,5]") == Names{"r0n3", "r0n5", "r1n3", "r1n5"});
    CHECK(expanded("a,b,a") == Names{"a", "b"});
    CHECK(expanded("[1-2]") == Names{"1", "2"});
    CHECK(expanded("n[4294967294-4294967295]") == Names{"n4294967294", "n4294967295"});
    CHECK(expand_host_list("n[0-65534]")->size() == kMaxNodes);
}

TEST_CASE("a malformed node list is refused") {
    for (const char* list : {"",
                             ",",
                             "a,",
                             "n[",
                             "n]",
                             "n[]",
                             "n[1",
                             "n[1-]",
                             "n[-1]",
                             "n[2-1]",
                             "n[1,]",
                             "n[a-b]",
                             "n[0-65535]",
                             "n[0-4294967295]",
                             "n[99999999999]",
                             "r[0-999]n[0-999]",
                             "a b",
                             "../etc",
                             "n[[1]]"}) {
        CAPTURE(list);
        CHECK_FALSE(expand_host_list(list));
    }
}

TEST_CASE("a short list can't ask for much") {
    const std::string ends = "[0-65534]";
    const auto is_taken = [](const std::string& list) { return expand_host_list(list).ok(); };
    CHECK(is_taken(std::string(200, 'n') + "[0-9]"));
    CHECK(is_taken(std::string(255, 'n')));
    CHECK_FALSE(is_taken(std::string(256, 'n')));
    CHECK_FALSE(is_taken(std::string(20'000, 'n') + ends));
    CHECK_FALSE(is_taken("n[" + std::string(20'000, '0') + "-65534]"));
    CHECK_FALSE(is_taken("n[" + std::string(255, '0') + ",1]"));
    std::string twice = "n[0-32766]";
    CHECK(is_taken(twice + ",n[0-32766]"));
    CHECK_FALSE(is_taken(twice + ",n[0-32766],n[0-32766]"));
    CHECK(is_taken(std::string(40, 'n') + ends));
    CHECK_FALSE(is_taken(std::string(120, 'n') + ends));
    CHECK_FALSE(is_taken("n[" + std::string(120, '0') + "-65534]"));
}

TEST_CASE("brackets that multiply by one cost no more than others") {
    CHECK(expanded("a[0]b[1]c[2]d[3]") == Names{"a0b1c2d3"});
    CHECK_FALSE(expand_host_list("a[0]b[1]c[2]d[3]e[4]"));
    std::string many = "[0-65533]";
    for (int i = 0; i < 240; ++i) {
        many += "[0]";
    }
    CHECK_FALSE(expand_host_list("n1," + many));
    for (int i = 0; i < 1760; ++i) {
        many += "[0]";
    }
    CHECK_FALSE(expand_host_list("n1," + many));
}

TEST_CASE("a node finds its place") {
    CHECK(position_of({"a", "b"}, "b") == 1U);
    CHECK_FALSE(position_of({"a", "b"}, "c"));
}
