// Exchanges messages with the MPI process that started this worker.
//
// Messages are read as they arrive, also while the broadcast runs: the end of the process ends
// the work.
#pragma once

#include "pmix/given_directory.h"
#include "stager/mpi/messages/call_message.h"
#include "stager/worker/broadcast/interrupts.h"
#include "transport/os/unique_fd.h"

#include <optional>

namespace stage {

class CallChannel final : public CardCarrier {
  public:
    /// Makes `socket` non-blocking and adds it to `interrupts`; both must outlive this object.
    [[nodiscard]] Status open(UniqueFd socket, Interrupts& interrupts);

    /// Waits for the next message without a limit: ranks of an MPI program may arrive at a
    /// collective call as late as they like. cause() is ECONNRESET if the process ended.
    [[nodiscard]] Result<CallMessage> next();
    /// Fails (Blame::internal) if the next message is another one.
    template <class Message>
    [[nodiscard]] Result<Message> next_of() {
        TRY(auto message, next());
        auto* wanted = std::get_if<Message>(&message);
        return wanted != nullptr ? Result<Message>{std::move(*wanted)} : unexpected();
    }
    [[nodiscard]] Status say(const CallMessage& message) const;

    [[nodiscard]] Status give(Bytes card) override;
    [[nodiscard]] Result<std::vector<std::byte>> take(
        std::chrono::milliseconds longest) override;

  private:
    [[nodiscard]] Status read();
    [[nodiscard]] static Error unexpected();

    UniqueFd socket_;
    Interrupts* interrupts_ = nullptr;
    std::optional<CallMessage> message_;
};

}  // namespace stage
