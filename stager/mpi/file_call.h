// Carries out a leader's part of one call.
//
// In lock step with the other leaders, whatever fails here: the root's offer goes to all; each
// examines its node and tells the others; those that need the file exchange business cards and
// let their workers broadcast it; all exchange their reports. A failure before the broadcast
// ends the call on all nodes before anything is sent.
#pragma once

#include "stager/mpi/engine_process.h"
#include "stager/mpi/leaders.h"
#include "stager/mpi/messages/call_message.h"
#include "stager/mpi/node_report.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stage {

/// The bytes that are here, and all of them.
using CallProgressFunction = std::function<void(std::uint64_t, std::uint64_t)>;

class FileCall {
  public:
    /// `leaders` must outlive this.
    FileCall(Leaders& leaders, CallProgressFunction on_progress);

    /// Only the root's `order` counts: an error says why it makes no sense. Returns the reports
    /// of all nodes, by leader; fails only if MPI does.
    [[nodiscard]] Result<std::vector<NodeReport>> run(const Result<CallOrder>& order);

  private:
    [[nodiscard]] CallMessage open_source(const Result<CallOrder>& order);
    [[nodiscard]] CallMessage examine();
    template <class Answer>
    [[nodiscard]] CallMessage start(const CallMessage& first);
    [[nodiscard]] bool is_there() const;
    [[nodiscard]] Status follow(Bytes opening);
    [[nodiscard]] Status distribute(const CallMessage& state);
    [[nodiscard]] Result<std::vector<CallMessage>> exchange(const CallMessage& own);
    [[nodiscard]] Status broadcast(const std::vector<CallMessage>& states);
    [[nodiscard]] Result<bool> connect(const CallGroup& group, bool is_member);
    void transfer();
    void end(const CallEnd& end);
    void set_status(stagecast_status status);
    void fail(const std::string& why);
    [[nodiscard]] Result<std::vector<NodeReport>> gather_reports();

    Leaders& leaders_;
    CallProgressFunction on_progress_;
    std::optional<EngineProcess> engine_;
    CallOffer offer_;
    CallMessage ready_;                 ///< The root's.
    std::vector<std::size_t> members_;  ///< Leaders that take part, by their rank.
    NodeReport report_;
};

}  // namespace stage
