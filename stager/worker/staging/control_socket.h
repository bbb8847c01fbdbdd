// Exchanges messages with the worker's daemon while the worker does other work.
//
// The daemon's messages are read when they arrive; a message that ends the work becomes an
// error. The worker's messages are sent at once; progress messages are dropped if the daemon is
// slow.
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
    /// Makes `socket` non-blocking and adds it to `interrupts`; both must outlive this object.
    [[nodiscard]] Status open(UniqueFd socket, Interrupts& interrupts);

    /// Waits for SETUP, the first message.
    [[nodiscard]] Result<WorkerSetup> setup(std::chrono::milliseconds longest);

    [[nodiscard]] Status give(Bytes card) override;
    [[nodiscard]] Result<std::vector<std::byte>> take(
        std::chrono::milliseconds longest) override;

    /// Dropped if the daemon is slow.
    void say(const WorkerProgress& progress);
    /// Waits a limited time for room in the socket.
    [[nodiscard]] Status say(const FromWorker& message);

    /// The node cache's answer; empty if it does not answer in time.
    struct CacheAnswer {
        std::vector<std::byte> content;
        UniqueFd file;
    };
    /// Asks the node cache about a stamp or a content. Only if may_cache.
    [[nodiscard]] Result<CacheAnswer> ask(Bytes about, std::chrono::milliseconds longest);
    /// Asks the node cache for the partial or complete copy of that file. Only if may_cache.
    [[nodiscard]] Result<CacheAnswer> seek(const SourceStamp& stamp,
                                           std::chrono::milliseconds longest);
    /// Sends entries for the cleanup list, in messages of one datagram each. From any thread.
    [[nodiscard]] Status say_left(const std::vector<std::string>& entries);
    /// Sends a descriptor with the message; the caller keeps it.
    [[nodiscard]] Status say(const FromWorker& message, int file);

    /// True once the daemon has reported the group's result.
    [[nodiscard]] bool is_released() const { return is_released_; }
    /// True once the daemon has reported that all members receive packets.
    [[nodiscard]] bool do_all_listen() const { return do_all_listen_; }

  private:
    /// Reads one message. ABORT, the end of the daemon or an invalid message is an error.
    [[nodiscard]] Status read();
    [[nodiscard]] Result<CacheAnswer> answer_to(const FromWorker& question,
                                                Bytes about,
                                                std::chrono::milliseconds longest);
    /// Waits until `done()`.
    template <class Done>
    [[nodiscard]] Status wait_for(std::chrono::milliseconds longest, Done done);

    UniqueFd socket_;
    Interrupts* interrupts_ = nullptr;
    std::optional<WorkerSetup> setup_;
    std::optional<std::vector<std::byte>> cards_;
    std::vector<std::byte> asked_;  ///< The subject of the pending question; empty: none.
    std::optional<CacheAnswer> answer_;
    bool is_released_ = false;
    bool do_all_listen_ = false;
};

}  // namespace stage
