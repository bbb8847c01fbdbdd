// Asks munge through a helper process, so that the daemon's only thread never blocks.
//
// libmunge waits seconds for a munged that does not answer, and can't be interrupted. The
// helper (forked by the spawner, role run_munge_helper) holds one end of a SOCK_SEQPACKET pair
// and answers one question after the other; this is the other end. Questions are queued here,
// not there, so that a question that is not needed any more costs nothing. If the helper dies,
// its question fails and the daemon attaches a new one.
#pragma once

#include "stager/link/credentials.h"
#include "transport/os/unique_fd.h"

#include <deque>
#include <optional>

namespace stage {

/// The helper's main function: answers on `fd` until it closes; returns the exit status.
/// `socket` is munged's, empty for libmunge's own. Blocks; only for a process of its own.
int run_munge_helper(int fd, const std::string& socket);

/// Questions that may wait; one more fails.
inline constexpr std::size_t kMungeQueueMax = 4096;
/// A helper that takes longer for one answer is given up: libmunge hangs.
inline constexpr Duration kMungeAnswerMax = std::chrono::seconds{20};

/// For the epoll loop: level-triggered EPOLLIN on fd() -> on_readable(); on_time() at
/// deadline().
class MungeClient final : public Credentials {
  public:
    MungeClient() = default;

    /// Takes the daemon's end of a new helper's socket pair. The question that the old helper
    /// has not answered fails; those that wait go to the new one.
    void attach(UniqueFd helper);

    /// -1 while there is no helper: then start one (at most one a second) and attach() it.
    [[nodiscard]] int fd() const { return helper_.get(); }

    /// `now` of every call is the loop's clock. Callbacks of links run inside.
    void on_readable(Instant now);
    void on_time(Instant now);
    [[nodiscard]] std::optional<Instant> deadline() const;

    Ticket seal(const std::string& peer, Bytes payload, OnSealed done) override;
    Ticket open(const std::string& peer, std::string credential, OnOpened done) override;
    void cancel(Ticket ticket) override;
    [[nodiscard]] CredentialRemedies remedies(const std::string& peer) const override;

  private:
    struct Question {
        Ticket ticket = 0;
        std::vector<std::byte> message;
        OnSealed on_sealed;  ///< One of the two is set, none after cancel().
        OnOpened on_opened;
    };

    Ticket ask(std::vector<std::byte> message, OnSealed on_sealed, OnOpened on_opened);
    void ask_next();
    static void answer(const Question& question, Bytes reply);
    void lose_helper(const std::string& why);
    static void fail(const Question& question, const Error& error);

    UniqueFd helper_;
    Ticket last_ticket_ = 0;
    std::deque<Question> waiting_;
    std::deque<Question> refused_;   ///< Beyond the limit: they fail at the next on_time().
    std::optional<Question> asked_;  ///< The question that the helper has.
    std::optional<Instant> give_up_at_;
    bool fresh_ = false;  ///< asked_ has no give_up_at_ yet, because no time was known.
};

}  // namespace stage
