// Fuzzes --stage-file=: a spec is parsed, or refused with an error message.
#include "stager/spec/spec_list.h"
#include "stager/spec/stage_spec.h"
#include "tests/fuzz/fuzz.h"

#include <array>

namespace stage {
namespace {

/// A sentence goes to a terminal and to a log: one line, nothing that controls it.
void check_sentence(const Error& error) {
    const std::string& text = error.sentence();
    invariant(!text.empty(), "a mistake is answered with a sentence");
    invariant(std::none_of(text.begin(),
                           text.end(),
                           [](char c) {
                               const auto code = static_cast<unsigned char>(c);
                               return code < ' ' || code == 0x7f;
                           }),
              "a sentence is one printable line");
}

std::string escaped(std::string_view name) {
    std::string text;
    for (const char c : name) {
        text += c == ':' || c == '\\' ? std::string{'\\', c} : std::string{c};
    }
    return text;
}

/// The spec as a user could have written it.
std::string written(const StageSpec& spec) {
    constexpr std::array<std::string_view, 4> kExisting{"", "+keep", "+newer", "+overwrite"};
    std::string flags{kExisting.at(static_cast<std::size_t>(spec.existing))};
    flags += spec.is_optional ? "+optional" : "";
    flags += spec.is_temporary ? "+temp" : "";
    flags += spec.is_durable ? "+durable" : "";
    flags += spec.is_late ? "+late" : "";
    std::string text = spec.cluster.empty() ? "" : "cluster://" + spec.cluster;
    text += (spec.is_list ? "@" : "") + escaped(spec.source);
    text += ':' + escaped(spec.destination);
    return text + (flags.empty() ? "" : ":" + flags.substr(1));
}

/// What a submission would be refused for goes no further; what is accepted travels.
void check_travels(const StageSpec& spec) {
    StageSpec absolute = made_absolute(spec, "/home/alice");
    absolute.cluster.clear();  // It travels with the list's options.
    if (!reason_against(absolute).empty()) {
        return;  // The directory has made it too long.
    }
    const auto line = serialize(std::span{&absolute, 1});
    if (!line) {
        return check_sentence(line.error());
    }
    const auto back = parse_serialized(*line);
    invariant(back && *back == std::vector{absolute}, "a spec arrives as it was sent");
}

}  // namespace

bool fuzz_one(Bytes input) {
    const std::string_view text = text_of(input);
    const auto spec = parse_spec(text);
    if (!spec) {
        check_sentence(spec.error());
        return false;
    }
    const auto again = parse_spec(written(*spec));
    invariant(again && *again == *spec, "a spec can be written in the syntax that was read");
    check_travels(*spec);
    return true;
}

std::vector<FuzzSeed> fuzz_seeds() {
    return {{"plain", owned("input.dat")},
            {"placed", owned("/shared/input.dat:sub/dir/")},
            {"flags", owned("a/b:/tmp/c:newer+optional+temp+durable+late")},
            {"escapes", owned("./odd\\:name\\\\x\\y:b\\:c")},
            {"list", owned("@files.txt::optional+late")},
            {"cluster", owned("cluster://site-a/data/x.h5:sub/:temp")}};
}

}  // namespace stage
