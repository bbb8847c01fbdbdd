// How does a PMIx client get everybody's card?
//
// One Put of one card under one key, Commit, one Fence that collects, a Get a member, and where
// the host has groups, a PMIx_Group_construct for its context id. The same under our own host,
// Slurm's and Open MPI's. PMIx keeps no time-out of ours (4.2 ignores one given to Fence)
// and its calls hang for ever on a wedged host, so all of them run in one thread of their own,
// which is left behind when patience ends: a process whose call here timed out must not call
// PMIx again and leaves by _exit() or exit().
//
// Who has collected stays for a while, as a worker does: Slurm's daemons of a step that has
// ended on one node can't help the others' fence any more, and where a fence brings no data
// along (Slurm with SLURM_PMIX_DIRECT_CONN=false) the others may still be fetching the card.
#pragma once

#include "pmix/directory.h"

#include <memory>

namespace stage {

class PmixDirectory final : public Directory {
    class Session;

  public:
    struct Options {
        bool construct_group = true;  ///< Ask for a context id (a second collective).
    };

    /// A launcher has left PMIx' variables in our environment.
    [[nodiscard]] static bool is_offered();

    /// PMIx_Init and who we are. Fails (Blame::node) if the host does not answer in time;
    /// cause() is ETIMEDOUT or ECANCELED as in Directory::collect.
    [[nodiscard]] static Result<std::unique_ptr<PmixDirectory>> open(const Patience& patience,
                                                                     Options options);
    /// Of open() alone: nobody else has a Session.
    explicit PmixDirectory(std::unique_ptr<Session> session);
    PmixDirectory(const PmixDirectory&) = delete;
    PmixDirectory& operator=(const PmixDirectory&) = delete;
    ~PmixDirectory() override;

    [[nodiscard]] Rank rank() const;
    /// Members of the job, at least 1 and at most kMaxCards.
    [[nodiscard]] std::size_t size() const;

    [[nodiscard]] Status publish(const Card& own) override;
    /// Ends with PMIx_Finalize: nothing of PMIx is left afterwards.
    [[nodiscard]] Result<CardTable> collect(const Patience& patience) override;
    [[nodiscard]] std::optional<std::uint64_t> context_id() const override;

  private:
    std::unique_ptr<Session> session_;
};

}  // namespace stage
