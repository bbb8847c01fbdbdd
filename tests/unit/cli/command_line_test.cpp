// Tests that command lines are parsed as by getopt_long(3).
#include "stager/cli/common/command_line.h"

#include <catch2/catch.hpp>

#include <array>

using namespace stage;

namespace {

constexpr std::array kKnown{
    OptionName{"nodes", 'w', true},
    OptionName{"dry-run", 'n', false},
    OptionName{"json", 0, false},
    OptionName{"rate", 0, true},
    OptionName{"resume", 0, false},
};

Result<CommandLine> read(std::vector<std::string> words) {
    std::vector<char*> pointers;
    for (std::string& word : words) {
        pointers.push_back(word.data());
    }
    return read_command_line(pointers, kKnown);
}

/// "nodes=n1 json | a b", or the sentence.
std::string said(const std::vector<std::string>& words) {
    const auto line = read(words);
    if (!line) {
        return line.error().sentence();
    }
    std::string text;
    for (const auto& [name, value] : line->options) {
        text += name + (value.empty() ? "" : '=' + value) + ' ';
    }
    text += '|';
    for (const std::string& operand : line->operands) {
        text += ' ' + operand;
    }
    return text;
}

}  // namespace

TEST_CASE("a value may be attached or the next word, an option anywhere") {
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"-w", "n1", "a", "b"},
                                               {"-wn1", "a", "b"},
                                               {"--nodes", "n1", "a", "b"},
                                               {"--nodes=n1", "a", "b"},
                                               {"a", "b", "-w", "n1"},
                                               {"a", "--nod=n1", "b"}}) {
        CAPTURE(words);
        CHECK(said(words) == "nodes=n1 | a b");
    }
    CHECK(said({"-nw", "n1", "a"}) == "dry-run nodes=n1 | a");
    CHECK(said({"-nwn1", "--json"}) == "dry-run nodes=n1 json |");
    CHECK(said({"-n", "--", "-w", "--json"}) == "dry-run | -w --json");
    CHECK(said({"-"}) == "| -");
    CHECK(said({}) == "|");
    CHECK(said({"-w", "-n"}) == "nodes=-n |");
}

TEST_CASE("a wrong option is named, with the one that is meant") {
    CHECK(said({"--jsno"}) == "there is no option --jsno; do you mean --json?");
    CHECK(said({"--json", "-xn"}) == "there is no option -x; --help lists them");
    CHECK(said({"--frobnicate=1"}) == "there is no option --frobnicate; --help lists them");
    CHECK(said({"a", "-w"}) == "-w needs a value; see --help");
    CHECK(said({"--nodes"}) == "--nodes needs a value; see --help");
    CHECK(said({"--json=1"}) == "--json takes no value");
    CHECK(said({"--r=1"}) == "--r is short for several options; --help lists them");
}

TEST_CASE("the nearest word is the one with the fewest typos") {
    constexpr std::array<std::string_view, 3> kNames{"status", "push", "doctor"};
    CHECK(nearest("statsu", kNames) == "status");
    CHECK(nearest("psh", kNames) == "push");
    CHECK(nearest("doktor", kNames) == "doctor");
    CHECK(nearest("frobnicate", kNames).empty());
    CHECK(nearest("", kNames).empty());
}
