// Checks that a launcher's output is assigned to its nodes only, and that its cards make a
// table that members accept, or none.
//
// The first byte chooses the launcher, a piece is its output, the rest what it complained of.
// Any user of a node can write both.
#include "pmix/launch_channel.h"
#include "stager/cli/launch/card_gathering.h"
#include "stager/cli/launch/launch_words.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/pmix/cards.h"

#include <array>

namespace stage {
namespace {

const std::vector<std::string> kNodes{"n0", "n1", "n10"};

void check_word(std::string_view text) {
    const std::string word = shell_word(text);
    invariant(word.size() >= text.size() && !word.empty(), "a word for a shell is all there");
}

/// A table has the cards of all nodes, each with its node's rank.
bool check_cards_of(Launcher launcher, const std::vector<Ended>& ended) {
    CardGathering gathering{launcher, kNodes, std::chrono::seconds{1}};
    const auto line = gathering.look(ended);
    if (!line || line->empty()) {
        return false;
    }
    const auto table = table_in(std::string_view{*line}.substr(0, line->size() - 1));
    invariant(table && !table->empty(), "a table is written as members read it");
    const auto cards = decode_cards(*table);
    invariant(!cards || cards->size() == kNodes.size(), "every node has one card");
    return cards.ok();
}

bool check_heard(const Heard& heard) {
    const auto is_line = [](const std::string& line) {
        return line.find('\n') == std::string::npos;
    };
    invariant(
        std::ranges::all_of(heard.out, is_line) && std::ranges::all_of(heard.err, is_line),
        "what was heard is lines");
    const std::string said = complaint(heard, "nothing");
    invariant(std::ranges::none_of(said, [](char one) { return one == '\n' || one == '\033'; }),
              "a complaint is harmless in a terminal");
    const auto seen = worker_seen(heard);
    const auto did = worker_did(heard);
    invariant(!seen || did, "who saw something said something");
    return did.has_value();
}

}  // namespace

bool fuzz_one(Bytes input) {
    constexpr std::array kLaunchers{Launcher::srun, Launcher::ssh, Launcher::clush};
    ByteReader reader{input};
    const Launcher launcher = kLaunchers.at(reader.u8() % kLaunchers.size());
    const std::size_t count = reader.u16();
    const Bytes out = reader.raw(std::min(count, reader.left()));
    Ended ended;
    ended.out = std::string{text_of(out)};
    ended.err = std::string{text_of(reader.raw(reader.left()))};
    check_word(ended.err);
    const std::vector<Ended> all(launcher == Launcher::ssh ? kNodes.size() : 1, ended);
    const std::vector<Heard> heard = heard_by_node(launcher, all, kNodes);
    invariant(heard.size() == kNodes.size(), "every node has its place");
    const bool has_cards = check_cards_of(launcher, all);
    bool has_spoken = has_cards;
    for (const Heard& one : heard) {
        has_spoken = check_heard(one) || has_spoken;
    }
    return has_spoken;
}

namespace {

/// Those of srun's tasks; in the middle of it a banner.
std::string cards() {
    std::string text;
    for (std::uint16_t task = 0; task < kNodes.size(); ++task) {
        const std::string label = std::to_string(task) + ": ";
        text += label + "stagecast-node " + kNodes.at(task) + '\n' + label + "welcome\n" +
                label + card_line(encode_card(card_of(task))).substr(1);
    }
    return text;
}

}  // namespace

std::vector<FuzzSeed> fuzz_seeds() {
    const auto output = [](std::uint8_t launcher, std::string_view out, std::string_view err) {
        return ByteWriter{}
            .u8(launcher)
            .u16(static_cast<std::uint16_t>(out.size()))
            .raw(as_bytes(out))
            .raw(as_bytes(err))
            .take();
    };
    const std::string did = R"({"bytes":7,"digest":"00ff","culprit":1,"why":"/x: no"})";
    return {{"srun",
             output(0,
                    "0: stagecast-node n1\n 1: stagecast-node n0\n0: " + did + "\n1: {}\n",
                    "1: stagecast-worker: /x: \033[31mno\n")},
            {"ssh", output(1, did + "\n", "stagecast-worker: /x: no\n")},
            {"clush",
             output(2,
                    "n1: " + did + "\nn10: {\"bytes\":-1}\nn2: {}\n",
                    "n0: no\nclush: n1: exited\n")},
            {"cards", output(0, cards(), "")}};
}

}  // namespace stage
