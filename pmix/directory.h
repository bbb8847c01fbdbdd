// How does a member get everybody's card?
//
// It publishes its own, then collects all: a collective call that ends on every member with the
// same table, or with a sentence. Three makers: PmixDirectory (whoever launched us hosts PMIx:
// our own host process under slurmd's prolog, srun --mpi=pmix, mpirun), StaticDirectory (a file
// of addresses), GivenDirectory (the daemons carry the cards).
//
// An implementation never waits longer than it is told, whatever its libraries do, and says who
// is missing as well as it can know.
#pragma once

#include "pmix/business_card.h"

#include <chrono>
#include <optional>

namespace stage {

/// How long a call may take, and what ends it before.
struct Patience {
    std::chrono::milliseconds longest{};
    /// Something to read here (or its end) makes the call give up at once, with an error whose
    /// cause() is ECANCELED: the daemon's socket. Nothing is read from it. -1: nothing does.
    int interrupt_fd = -1;
};

class Directory {
  public:
    Directory() = default;
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    virtual ~Directory() = default;

    /// Takes the own card; tells nobody yet. Fails (Blame::internal) on a card that no member
    /// would accept. Once, before collect().
    [[nodiscard]] virtual Status publish(const Card& own) = 0;

    /// Everybody's card, checked (check_cards()). Every member must call it. Once.
    /// Fails with cause() ETIMEDOUT when patience is over and ECANCELED when it was
    /// interrupted.
    [[nodiscard]] virtual Result<CardTable> collect(const Patience& patience) = 0;

    /// After collect(): a number that whoever hosts the group drew for it, the same for all
    /// members. Nothing where the host has no groups (Slurm's and Open MPI's PMIx).
    [[nodiscard]] virtual std::optional<std::uint64_t> context_id() const {
        return std::nullopt;
    }
};

}  // namespace stage
