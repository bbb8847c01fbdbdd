#include "pmix/pmix_directory.h"

#include "pmix/aside.h"
#include "pmix/pmix_client.h"

#include <cerrno>

namespace stage {
namespace {

struct Exchanged {
    std::vector<std::vector<std::byte>> cards;
    std::optional<std::uint64_t> context_id;
};

Result<Exchanged> exchange(PmixClient& client, Bytes own, bool construct_group) {
    TRY(auto cards, client.exchange(own, kMaxBusinessCardBytes));
    Exchanged exchanged{.cards = std::move(cards), .context_id = {}};
    if (construct_group) {
        TRY(auto context, client.construct_group());
        exchanged.context_id = context;
    }
    client.finish();
    return exchanged;
}

/// Adds to a time-out's error in which call it occurred.
Error located(Error error, const PmixClient& client) {
    if (error.cause() != ETIMEDOUT) {
        return error;
    }
    return std::move(error).remedy("it waits in " + std::string{client.at()});
}

}  // namespace

/// The state that both threads share. The client belongs to the thread whose call is pending.
class PmixDirectory::Session {
  public:
    Session(std::shared_ptr<PmixClient> started, Options given)
        : client{std::move(started)}, options{given} {}

    std::shared_ptr<PmixClient> client;
    Options options;
    std::vector<std::byte> own;
    std::optional<std::uint64_t> context_id;
};

Result<std::unique_ptr<PmixDirectory>> PmixDirectory::open(const WaitLimit& wait_limit,
                                                           Options options) {
    const auto client = std::make_shared<PmixClient>();
    const auto start = [client]() -> Result<bool> {
        const Status started = client->start();
        return started ? Result<bool>{true} : Result<bool>{started.error()};
    };
    const Result<bool> started =
        call_with_timeout<bool>(wait_limit, "joining the job by PMIx", start);
    if (!started) {
        return located(started.error(), *client);
    }
    if (client->size() == 0 || client->size() > kMaxCards || client->rank() >= client->size()) {
        return Error{Blame::user,
                     "a job of " + std::to_string(client->size()) +
                         " processes; stagecast takes " + std::to_string(kMaxCards) +
                         " at most"};
    }
    return std::make_unique<PmixDirectory>(std::make_unique<Session>(client, options));
}

PmixDirectory::PmixDirectory(std::unique_ptr<Session> session) : session_{std::move(session)} {
}

PmixDirectory::~PmixDirectory() = default;

Rank PmixDirectory::rank() const {
    return Rank{static_cast<std::uint16_t>(session_->client->rank())};
}

std::size_t PmixDirectory::size() const {
    return session_->client->size();
}

Status PmixDirectory::publish(const Card& own) {
    invariant(own.rank == rank(), "a member publishes its own card");
    TRY(auto encoded, checked_card(own));
    session_->own = std::move(encoded);
    return {};
}

Result<CardTable> PmixDirectory::collect(const WaitLimit& wait_limit) {
    invariant(!session_->own.empty(), "a card is published before all are collected");
    const auto work = [client = session_->client,
                       own = session_->own,
                       group = session_->options.construct_group] {
        return exchange(*client, own, group);
    };
    Result<Exchanged> exchanged =
        call_with_timeout<Exchanged>(wait_limit, "exchanging cards by PMIx", work);
    if (!exchanged) {
        return located(std::move(exchanged).error(), *session_->client);
    }
    session_->context_id = exchanged->context_id;
    return decode_cards(join_cards(exchanged->cards));
}

std::optional<std::uint64_t> PmixDirectory::context_id() const {
    return session_->context_id;
}

}  // namespace stage
