// Tests that each choice has a word for each of its values.
#include "transport/settings/choices.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

template <class Choice>
void check_words(Choice last) {
    CHECK(words(last).size() == static_cast<std::size_t>(last) + 1);
    for (const std::string_view word : words(last)) {
        CAPTURE(word);
        const auto choice = read_choice<Choice>(word);
        REQUIRE(choice);
        CHECK(word_of(*choice) == word);
    }
    CHECK_FALSE(read_choice<Choice>(""));
    CHECK_FALSE(read_choice<Choice>("strong"));
}

}  // namespace

TEST_CASE("each value of a choice has its word") {
    check_words(RatePolicy::acker);
    check_words(PeerPolicy::ring);
    check_words(ReadinessPolicy::none);
    check_words(Protection::encrypt);
    check_words(Transport::verbs);
    CHECK(word_of(Transport::automatic) == "auto");
    CHECK(read_choice<Protection>("AUTH") == Protection::auth);
}

}  // namespace stage
