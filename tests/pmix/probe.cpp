// Does the wire-up work here?  One member that publishes a card and collects all, nothing else.
//
//   pmix-probe [--wait-ms=N] [--no-group] [--node=NAME] [--stay-ms=N]
//
// under stagecast-pmix-host, srun --mpi=pmix or mpirun. One line of JSON on stdout; exit status
// 0 if the table is whole, 1 with the sentence in "error". Used by tests/pmix/run.
#include "pmix/agreement.h"
#include "pmix/pmix_directory.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <thread>

namespace stage {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct Options {
    milliseconds wait{10000};
    milliseconds stay{0};
    bool group = true;
    std::string node = "here";
};

milliseconds number_in(std::string_view text) {
    int value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return milliseconds{value};
}

Options read_options(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        const std::string_view value =
            word.substr(std::min(word.find('='), word.size() - 1) + 1);
        if (word.starts_with("--wait-ms=")) {
            options.wait = number_in(value);
        } else if (word.starts_with("--stay-ms=")) {
            options.stay = number_in(value);
        } else if (word.starts_with("--node=")) {
            options.node = value;
        } else if (word == "--no-group") {
            options.group = false;
        } else {
            static_cast<void>(std::fprintf(stderr, "pmix-probe: what is %s?\n", argv[i]));
            std::exit(64);
        }
    }
    return options;
}

int fail(const Error& error) {
    static_cast<void>(std::printf("{\"error\":\"%s\"}\n", error.sentence().c_str()));
    static_cast<void>(std::fflush(stdout));
    // PMIx may still hang in a thread of its own.
    ::_exit(1);
}

Card own_card(const PmixDirectory& directory, const Options& options) {
    Card card;
    card.rank = directory.rank();
    card.address = *parse_ip("127.0.0.1");
    card.port = static_cast<std::uint16_t>(20000 + directory.rank().value());
    card.node = options.node;
    const ssize_t drawn = ::getrandom(card.incarnation.data(), card.incarnation.size(), 0);
    invariant(drawn == 16, "the kernel has randomness");
    return card;
}

double since(Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

int run(const Options& options) {
    const auto begin = Clock::now();
    const Patience patience{.longest = options.wait};
    auto directory = PmixDirectory::open(patience, {.construct_group = options.group});
    if (!directory) {
        return fail(directory.error());
    }
    const double open_ms = since(begin);
    const Card own = own_card(**directory, options);
    if (const Status published = (*directory)->publish(own); !published) {
        return fail(published.error());
    }
    const auto collecting = Clock::now();
    const Result<CardTable> cards = (*directory)->collect(patience);
    if (!cards) {
        return fail(cards.error());
    }
    const double collect_ms = since(collecting);
    const auto context = (*directory)->context_id();
    const Result<Agreement> agreement = agree(*cards, context);
    if (!agreement || (*cards)[own.rank.index()] != own) {
        return fail(agreement ? Error{Blame::internal, "own card lost"} : agreement.error());
    }
    std::string session;
    for (const std::byte octet : agreement->session) {
        std::array<char, 3> hex{};
        static_cast<void>(
            std::snprintf(hex.data(), hex.size(), "%02x", std::to_integer<unsigned>(octet)));
        session += hex.data();
    }
    static_cast<void>(std::printf(
        "{\"rank\":%u,\"size\":%zu,\"context\":%s,\"session\":\"%s\",\"open_ms\":%.2f,"
        "\"collect_ms\":%.2f,\"uid\":%u}\n",
        static_cast<unsigned>(own.rank.value()),
        cards->size(),
        context ? std::to_string(*context).c_str() : "null",
        session.c_str(),
        open_ms,
        collect_ms,
        static_cast<unsigned>(::getuid())));
    static_cast<void>(std::fflush(stdout));
    std::this_thread::sleep_for(options.stay);
    return 0;
}

}  // namespace
}  // namespace stage

int main(int argc, char** argv) {
    return stage::run(stage::read_options(argc, argv));
}
