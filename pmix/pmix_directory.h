// Collects business cards with a PMIx client.
//
// It makes one Put of one card under one key, Commit, one collecting Fence, a Get for each
// member, and, where the server has groups, a PMIx_Group_construct for its context id. PMIx
// ignores time-outs (4.2 ignores one given to Fence) and its calls hang forever on a stuck
// server, so all of them run in one thread of their own, which is left behind on a time-out: a
// process whose call here timed out must not call PMIx again and leaves by _exit() or exit().
#pragma once

#include "pmix/directory.h"

#include <memory>

namespace stage {

class PmixDirectory final : public Directory {
    class Session;

  public:
    struct Options {
        bool construct_group = true;  ///< Request a context id (a second collective).
    };

    /// Calls PMIx_Init and gets the own rank. Fails (Blame::node) if the server does not answer
    /// in time; cause() is ETIMEDOUT or ECANCELED as in Directory::collect.
    [[nodiscard]] static Result<std::unique_ptr<PmixDirectory>> open(
        const WaitLimit& wait_limit, Options options);
    /// For open() only: no other code can make a Session.
    explicit PmixDirectory(std::unique_ptr<Session> session);
    PmixDirectory(const PmixDirectory&) = delete;
    PmixDirectory& operator=(const PmixDirectory&) = delete;
    ~PmixDirectory() override;

    [[nodiscard]] Rank rank() const;
    /// The number of members, at least 1 and at most kMaxCards.
    [[nodiscard]] std::size_t size() const;

    [[nodiscard]] Status publish(const Card& own) override;
    /// Ends with PMIx_Finalize: PMIx is not used afterwards.
    [[nodiscard]] Result<CardTable> collect(const WaitLimit& wait_limit) override;
    [[nodiscard]] std::optional<std::uint64_t> context_id() const override;

  private:
    std::unique_ptr<Session> session_;
};

}  // namespace stage
