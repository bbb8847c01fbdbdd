// The interface through which a member publishes its business card and collects all members'
// cards.
//
// Collecting is a collective call: on every member it ends with the same table or with an
// error. There are two implementations: PmixDirectory (our own PMIx host under slurmd's prolog)
// and GivenDirectory (the process that started the member carries the cards).
//
// An implementation never waits longer than its WaitLimit allows, whatever its libraries do,
// and names the missing members as far as it can know them.
#pragma once

#include "pmix/business_card.h"

#include <chrono>
#include <optional>

namespace stage {

/// The time limit of a call, and the descriptor that ends it earlier.
struct WaitLimit {
    std::chrono::milliseconds longest{};
    /// The daemon's socket. When it becomes readable or is closed the call ends at once with an
    /// error whose cause() is ECANCELED; nothing is read from it. -1: no interruption.
    int interrupt_fd = -1;
};

class Directory {
  public:
    Directory() = default;
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    virtual ~Directory() = default;

    /// Stores the own card; sends nothing yet. Fails (Blame::internal) on a card that no member
    /// would accept. Call once, before collect().
    [[nodiscard]] virtual Status publish(const Card& own) = 0;

    /// Returns all members' cards, checked with check_cards(). Every member must call it, once.
    /// Fails with cause() ETIMEDOUT after the time limit and ECANCELED when it was interrupted.
    [[nodiscard]] virtual Result<CardTable> collect(const WaitLimit& wait_limit) = 0;

    /// After collect(): a number that the PMIx server drew for the group, the same for all
    /// members. Empty where the server has no groups (Slurm's and Open MPI's PMIx).
    [[nodiscard]] virtual std::optional<std::uint64_t> context_id() const {
        return std::nullopt;
    }
};

}  // namespace stage
