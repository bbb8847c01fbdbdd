// Publishes a card and collects all, under stagecast-pmix-host.
//
//   pmix-probe [--wait-ms=N] [--no-group] [--ballast=BYTES]
//
// Ballast is something else that is Put. One line of JSON on stdout; exit status 0 if the table
// is whole, 1 with the sentence in "error". Used by tests/pmix/run.
#include "pmix/agreement.h"
#include "pmix/pmix_directory.h"

#include <pmix.h>

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>

namespace stage {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
    int wait_ms = 10000;
    int ballast = 0;
    bool group = true;
};

int number_in(std::string_view text) {
    int value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

bool read_option(Options& options, std::string_view word) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equals);
    const std::string_view value = word.substr(std::min(equals + 1, word.size()));
    if (name == "--wait-ms") {
        options.wait_ms = number_in(value);
    } else if (name == "--ballast") {
        options.ballast = number_in(value);
    } else if (name == "--no-group") {
        options.group = false;
    } else {
        return false;
    }
    return true;
}

int fail(const Error& error) {
    static_cast<void>(std::printf("{\"error\":\"%s\"}\n", error.sentence().c_str()));
    static_cast<void>(std::fflush(stdout));
    // PMIx may still hang in a thread of its own.
    ::_exit(1);
}

Card card_of(Rank rank) {
    Card card;
    card.rank = rank;
    card.address = parse_ip("127.0.0.1").value();
    card.places = {{"udp",
                    {static_cast<std::byte>(rank.value() >> 8U),
                     static_cast<std::byte>(rank.value() & 0xffU)}}};
    const ssize_t drawn = ::getrandom(card.incarnation.data(), card.incarnation.size(), 0);
    invariant(drawn == 16, "the kernel has randomness");
    return card;
}

std::string hex(Bytes bytes) {
    std::string text;
    for (const std::byte octet : bytes) {
        std::array<char, 3> pair{};
        static_cast<void>(
            std::snprintf(pair.data(), pair.size(), "%02x", std::to_integer<unsigned>(octet)));
        text += pair.data();
    }
    return text;
}

struct Member {
    Rank rank;
    double open_ms = 0;
    std::unique_ptr<Directory> directory;
};

double since(Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

Result<Member> open_by_pmix(const Options& options, const WaitLimit& wait_limit) {
    const auto begin = Clock::now();
    auto opened = PmixDirectory::open(wait_limit, {.construct_group = options.group});
    if (!opened) {
        return std::move(opened).error();
    }
    if (options.ballast > 0) {
        std::string text(static_cast<std::size_t>(options.ballast), 'b');
        pmix_value_t value{};
        value.type = PMIX_STRING;
        value.data.string = text.data();
        static_cast<void>(PMIx_Put(PMIX_GLOBAL, "ballast", &value));
    }
    const Rank rank = (*opened)->rank();
    return Member{.rank = rank, .open_ms = since(begin), .directory = *std::move(opened)};
}

int run(const Options& options) {
    const WaitLimit wait_limit{.longest = std::chrono::milliseconds{options.wait_ms}};
    Result<Member> member = open_by_pmix(options, wait_limit);
    if (!member) {
        return fail(member.error());
    }
    const Card own = card_of(member->rank);
    if (const Status published = member->directory->publish(own); !published) {
        return fail(published.error());
    }
    const auto collecting = Clock::now();
    const Result<CardTable> cards = member->directory->collect(wait_limit);
    if (!cards) {
        return fail(cards.error());
    }
    const double collect_ms = since(collecting);
    const auto context = member->directory->context_id();
    const Result<Agreement> agreement = agree(*cards, context);
    if (!agreement || (*cards)[own.rank.index()] != own) {
        return fail(agreement ? Error{Blame::internal, "own card lost"} : agreement.error());
    }
    static_cast<void>(std::printf(
        "{\"rank\":%u,\"size\":%zu,\"context\":%s,\"draw\":%ju,\"session\":\"%s\",\"uid\":%u,"
        "\"open_ms\":%.2f,\"collect_ms\":%.2f}\n",
        static_cast<unsigned>(own.rank.value()),
        cards->size(),
        context ? std::to_string(*context).c_str() : "null",
        static_cast<std::uintmax_t>(agreement->draw),
        hex(agreement->session).c_str(),
        ::getuid(),
        member->open_ms,
        collect_ms));
    static_cast<void>(std::fflush(stdout));
    return 0;
}

}  // namespace
}  // namespace stage

int main(int argc, char** argv) {
    stage::Options options;
    for (int i = 1; i < argc; ++i) {
        if (!stage::read_option(options, argv[i])) {
            static_cast<void>(std::fprintf(stderr, "pmix-probe: what is %s?\n", argv[i]));
            return 64;
        }
    }
    return stage::run(options);
}
