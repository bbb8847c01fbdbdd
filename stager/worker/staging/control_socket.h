// How does a worker talk with its daemon while it does something else?
//
// The daemon's messages are read when they come; what ends the work becomes an error. What the
// worker says goes out at once, or, if it is only progress and the daemon is slow, not at all.
#pragma once

#include "pmix/given_directory.h"
#include "stager/content/source_stamp.h"
#include "stager/messages/worker_setup.h"
#include "stager/worker/broadcast/interrupts.h"
#include "transport/os/unique_fd.h"

#include <optional>

namespace stage {

class ControlSocket final : public CardCarrier {
  public:
    /// Makes `socket` non-blocking. `interrupts` hears of it; both must outlive it.
    [[nodiscard]] Status open(UniqueFd socket, Interrupts& interrupts);

    /// Waits for SETUP, the first message.
    [[nodiscard]] Result<WorkerSetup> setup(std::chrono::milliseconds longest);

    [[nodiscard]] Status give(Bytes card) override;
    [[nodiscard]] Result<std::vector<std::byte>> take(
        std::chrono::milliseconds longest) override;

    /// Lost if the daemon is slow.
    void say(const WorkerProgress& progress);
    /// Waits a bounded time for room.
    [[nodiscard]] Status say(const FromWorker& message);

    /// What the node cache knows; nothing where it does not answer in time. Only if may_cache.
    struct Told {
        std::vector<std::byte> content;
        UniqueFd file;
    };
    [[nodiscard]] Result<Told> ask(Bytes about, std::chrono::milliseconds longest);
    /// What it has of that file. Likewise.
    [[nodiscard]] Result<Told> seek(const SourceStamp& stamp,
                                    std::chrono::milliseconds longest);
    /// Entries for the cleanup list, in messages that are one datagram each. From any thread.
    [[nodiscard]] Status say_left(const std::vector<std::string>& entries);
    /// With a descriptor beside it, borrowed.
    [[nodiscard]] Status say(const FromWorker& message, int file);

    /// The daemon said that the group has its verdict.
    [[nodiscard]] bool is_released() const { return is_released_; }
    /// And that all of it take packets.
    [[nodiscard]] bool do_all_listen() const { return do_all_listen_; }

  private:
    /// Reads one message. An error ends the work: ABORT, the daemon's end, nonsense.
    [[nodiscard]] Status read();
    [[nodiscard]] Result<Told> told(const FromWorker& question,
                                    Bytes about,
                                    std::chrono::milliseconds longest);
    /// Waits until `done()`.
    template <class Done>
    [[nodiscard]] Status wait_for(std::chrono::milliseconds longest, Done done);

    UniqueFd socket_;
    Interrupts* interrupts_ = nullptr;
    std::optional<WorkerSetup> setup_;
    std::optional<std::vector<std::byte>> cards_;
    std::vector<std::byte> asked_;  ///< What is waited for; empty: nothing.
    std::optional<Told> told_;
    bool is_released_ = false;
    bool do_all_listen_ = false;
};

}  // namespace stage
