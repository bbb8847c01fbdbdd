// Takes what a job's process writes to stdout and stderr into the daemon's log.
//
// The process is its user's, who may write anything: a line of it becomes one field of a line
// of the daemon's own, behind the process, its stage and its uid, control characters escaped,
// so it passes for nobody else's. Of each process kOutputLinesMax lines of kOutputLineMax bytes
// are taken; then its pipe is closed, which is logged once, and what it writes goes nowhere
// (EPIPE).
#pragma once

#include "stager/daemon/base/loop.h"
#include "transport/base/log.h"
#include "transport/os/unique_fd.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace stage {

/// Bytes; what is longer is cut, and ends in "...".
inline constexpr std::size_t kOutputLineMax = 1000;
inline constexpr int kOutputLinesMax = 100;

/// Whose output it is, as its lines say.
struct OutputOwner {
    std::string process;  ///< "stagecast-worker".
    std::string stage;    ///< "42.job.0"; empty while it has none.
    std::uint32_t uid = 0;
};

class ChildOutput {
    struct Token {};  ///< Only open() makes one.

  public:
    static Result<std::unique_ptr<ChildOutput>> open(Loop& loop,
                                                     const Logger& log,
                                                     OutputOwner owner);
    ChildOutput(Token token, Loop& loop, const Logger& log, OutputOwner owner);
    ChildOutput(const ChildOutput&) = delete;
    ChildOutput& operator=(const ChildOutput&) = delete;
    ~ChildOutput() { close(); }

    /// The writing end, for the child, until handed_over().
    [[nodiscard]] int child_end() const { return child_end_.get(); }
    void handed_over() { child_end_.reset(); }
    /// From now on.
    void belongs_to(OutputOwner owner) { owner_ = std::move(owner); }
    /// The process has ended: what is still in the pipe, then nothing more.
    void finish();

  private:
    /// False if there is nothing more for now.
    bool read_some();
    void take(std::string_view text);
    void tell(std::string_view line);
    void close();

    Loop& loop_;
    const Logger& log_;
    OutputOwner owner_;
    UniqueFd child_end_;
    UniqueFd pipe_;
    std::string line_;     ///< What has come of the line under way.
    bool is_cut_ = false;  ///< It is longer than that: the rest is skipped.
    int lines_ = 0;
};

}  // namespace stage
