// Checks that a launcher's output is assigned to its nodes only.
//
// The first byte chooses the launcher, a piece is its output, the rest what it complained of.
// Any user of a node can write both.
#include "stager/cli/launch/launch_words.h"
#include "tests/fuzz/fuzz.h"

#include <array>

namespace stage {
namespace {

const std::vector<std::string> kNodes{"n0", "n1", "n10"};

void check_word(std::string_view text) {
    const std::string word = shell_word(text);
    invariant(word.size() >= text.size() && !word.empty(), "a word for a shell is all there");
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
    constexpr std::array kLaunchers{
        Launcher::srun, Launcher::ssh, Launcher::pdsh, Launcher::clush};
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
    static_cast<void>(nodes_by_task(ended.out));
    bool has_spoken = false;
    for (const Heard& one : heard) {
        has_spoken = check_heard(one) || has_spoken;
    }
    return has_spoken;
}

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
            {"pdsh", output(2, "n1: " + did + "\nn10: {\"bytes\":-1}\nn2: {}\n", "n0: no\n")},
            {"clush", output(3, "n0: " + did + "\n", "n0: no\nclush: n1: exited\n")}};
}

}  // namespace stage
