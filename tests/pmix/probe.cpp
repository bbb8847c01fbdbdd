// One member that publishes a card and collects all.  One member that publishes a card and
// collects all, nothing else.
//
//   pmix-probe [--wait-ms=N] [--no-group] [--key] [--stay-ms=N] [--ballast=BYTES]
//   pmix-probe [--wait-ms=N] --hosts=FILE --rank=K --port=P [--secret=TEXT]
//
// The first under stagecast-pmix-host, srun --mpi=pmix or mpirun; --key shares a key by munge,
// ballast is something else that is Put. One line of JSON on stdout; exit status 0 if the table
// is whole, 1 with the sentence in "error". Used by tests/pmix/run.
#include "pmix/agreement.h"
#include "pmix/key_credential.h"
#include "pmix/pmix_directory.h"
#include "pmix/static/static_directory.h"

#include <pmix.h>

#include <sys/random.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <functional>
#include <string_view>

namespace stage {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
    int wait_ms = 10000;
    int stay_ms = 0;
    int ballast = 0;
    int rank = 0;
    int port = 0;
    bool group = true;
    bool key = false;
    std::string hosts;
    std::string secret;
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
    } else if (name == "--stay-ms") {
        options.stay_ms = number_in(value);
    } else if (name == "--ballast") {
        options.ballast = number_in(value);
    } else if (name == "--rank") {
        options.rank = number_in(value);
    } else if (name == "--port") {
        options.port = number_in(value);
    } else if (name == "--hosts") {
        options.hosts = value;
    } else if (name == "--secret") {
        options.secret = value;
    } else if (name == "--no-group") {
        options.group = false;
    } else if (name == "--key") {
        options.key = true;
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

Card card_of(Rank rank, const std::string& credential) {
    Card card;
    card.rank = rank;
    card.address = parse_ip("127.0.0.1").value();
    card.places = {{"udp",
                    {static_cast<std::byte>(rank.value() >> 8U),
                     static_cast<std::byte>(rank.value() & 0xffU)}}};
    card.key_credential = credential;
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

/// Who could read the key, and that all have the same: a digest of it, not the key.
std::string key_facts(const std::string& credential) {
    const Result<CardKey> key = open_card_key(credential);
    if (!key) {
        return ",\"key_error\":\"" + key.error().sentence() + '"';
    }
    const std::size_t digest = std::hash<std::string>{}(hex(*key));
    return ",\"key\":" + std::to_string(digest) + ",\"credential\":\"" + credential + '"';
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

Result<Member> open_by_file(const Options& options) {
    Result<HostList> hosts = read_host_file(options.hosts);
    if (!hosts) {
        return std::move(hosts).error();
    }
    StaticDirectory::Group group{.hosts = *std::move(hosts),
                                 .own = Rank{static_cast<std::uint16_t>(options.rank)},
                                 .port = static_cast<std::uint16_t>(options.port),
                                 .key = {}};
    for (const char c : options.secret) {
        group.key.push_back(static_cast<std::byte>(c));
    }
    const Rank rank = group.own;
    return Member{.rank = rank,
                  .open_ms = 0,
                  .directory = std::make_unique<StaticDirectory>(std::move(group))};
}

int run(const Options& options) {
    const WaitLimit wait_limit{.longest = std::chrono::milliseconds{options.wait_ms}};
    Result<Member> member =
        options.hosts.empty() ? open_by_pmix(options, wait_limit) : open_by_file(options);
    if (!member) {
        return fail(member.error());
    }
    std::string credential;
    if (options.key && member->rank.value() == 0) {
        const Result<std::string> sealed = seal_card_key(draw_card_key());
        if (!sealed) {
            return fail(sealed.error());
        }
        credential = *sealed;
    }
    const Card own = card_of(member->rank, credential);
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
    const std::string key = options.key ? key_facts(cards->front().key_credential) : "";
    static_cast<void>(std::printf(
        "{\"rank\":%u,\"size\":%zu,\"context\":%s,\"draw\":%ju,\"session\":\"%s\",\"uid\":%u,"
        "\"open_ms\":%.2f,\"collect_ms\":%.2f%s}\n",
        static_cast<unsigned>(own.rank.value()),
        cards->size(),
        context ? std::to_string(*context).c_str() : "null",
        static_cast<std::uintmax_t>(agreement->draw),
        hex(agreement->session).c_str(),
        ::getuid(),
        member->open_ms,
        collect_ms,
        key.c_str()));
    static_cast<void>(std::fflush(stdout));
    static_cast<void>(::usleep(static_cast<useconds_t>(options.stay_ms) * 1000U));
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
