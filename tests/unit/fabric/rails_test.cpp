#include "transport/fabric/rails.h"

#include "transport/os/unique_fd.h"

#include <catch2/catch.hpp>

#include <sys/socket.h>

namespace stage {
namespace {

Address address(const char* text, std::uint16_t port = 0) {
    const auto parsed = Address::parse(text, port);
    REQUIRE(parsed);
    return *parsed;
}

InterfaceHere here(const char* name, const char* text) {
    return {.name = name, .address = address(text)};
}

std::vector<InterfaceHere> three() {
    return {here("eth0", "10.0.0.1"), here("hsn0", "10.1.0.1"), here("hsn1", "10.2.0.1")};
}

std::vector<std::string> chosen(const std::vector<std::vector<std::string>>& entries,
                                const std::vector<InterfaceHere>& all) {
    const auto rails = choose_rails(entries, all);
    std::vector<std::string> names;
    for (const Rail& rail : rails ? *rails : std::vector<Rail>{}) {
        names.push_back(rail.name);
    }
    return names;
}

using Names = std::vector<std::string>;

TEST_CASE("the first entry is taken that the node has, all of it") {
    auto all = three();
    CHECK(chosen({{"ib0"}, {"eth0"}, {"hsn0"}}, all) == Names{"eth0"});
    CHECK(chosen({{"hsn1", "hsn0"}, {"eth0"}}, all) == Names{"hsn1", "hsn0"});
    CHECK(choose_rails({{"hsn0", "hsn1"}}, all)->back() ==
          Rail{.name = "hsn1", .address = address("10.2.0.1")});
    CHECK(chosen({{"hsn0", "hsn2"}, {"eth0"}}, all) == Names{"eth0"});
    all[2].is_up = false;
    CHECK(chosen({{"hsn0", "hsn1"}, {"hsn0"}}, all) == Names{"hsn0"});
}

TEST_CASE("of several addresses that is taken which the other nodes reach") {
    const std::vector<AddressHere> all{
        {address("192.168.50.5"), 24}, {address("10.77.9.9"), 32}, {address("10.77.1.2"), 16}};
    CHECK(choose_address(all, {}) == address("192.168.50.5"));
    CHECK(choose_address(all, {address("10.77.1.2"), {}}) == address("10.77.1.2"));
    CHECK(choose_address(all, {address("10.77.9.9", 5), {}}) == address("10.77.9.9"));
    CHECK(choose_address(all, {std::nullopt, {address("10.77.200.1")}}) ==
          address("10.77.1.2"));
    CHECK(choose_address(all, {address("172.16.0.1"), {address("172.16.0.2")}}) ==
          address("192.168.50.5"));
    const std::vector<AddressHere> moving{all[1], all[0]};
    CHECK(choose_address(moving, {}) == address("192.168.50.5"));
    CHECK(choose_address({all[1]}, {}) == address("10.77.9.9"));
}

TEST_CASE("an interface is called by its name where no other has that") {
    CHECK(interface_called("lo") == "lo");
    CHECK(interface_called("no-such-name") == "no-such-name");
}

TEST_CASE("a rail needs a link; a single interface may get one later") {
    auto all = three();
    all[2].has_link = false;
    CHECK(chosen({{"hsn0", "hsn1"}, {"eth0"}}, all) == Names{"eth0"});
    CHECK(chosen({{"hsn1"}, {"eth0"}}, all) == Names{"hsn1"});
}

TEST_CASE("what is missing of each entry is named, with the remedy") {
    auto all = three();
    all[0].is_up = false;
    all[1].has_link = false;
    const auto none = choose_rails({{"hsn0", "hsn1"}, {"hsn1", "ib0"}, {"eth0"}}, all);
    REQUIRE_FALSE(none);
    CHECK(none.error().blame() == Blame::node);
    CHECK_THAT(none.error().sentence(),
               Catch::Contains("'hsn0' has no link") && Catch::Contains("'ib0' is absent") &&
                   Catch::Contains("'eth0' is down") && Catch::Contains("Interface="));
    CHECK_FALSE(choose_rails({}, all));
}

TEST_CASE("this host's loopback is here and alive") {
    const auto all = interfaces_here(AF_INET);
    CHECK(chosen({{"no-such-if"}, {"lo"}}, all) == Names{"lo"});
    const UniqueFd socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    CHECK(has_link(socket.get(), "lo"));
    CHECK_FALSE(has_link(socket.get(), "no-such-if"));
}

}  // namespace
}  // namespace stage
