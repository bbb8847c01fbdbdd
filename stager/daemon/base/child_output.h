// Copies what a job's process writes to stdout and stderr into the daemon's log.
//
// The process belongs to its user, who may write anything: each of its lines becomes one field
// of a line of the daemon's own, behind the process, its stage and its uid, with control
// characters escaped, so that it cannot pass for another log line. The daemon reads at most
// kOutputLinesMax lines of kOutputLineMax bytes from a process; then it closes the pipe and
// logs that once, and later writes of the process fail (EPIPE).
#pragma once

#include "stager/daemon/base/loop.h"
#include "transport/base/log.h"
#include "transport/os/unique_fd.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace stage {

/// Bytes; a longer line is cut, and ends in "...".
inline constexpr std::size_t kOutputLineMax = 1000;
inline constexpr int kOutputLinesMax = 100;

/// The process that writes, as named in the log.
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

    /// The writing end, for the child, until handed_over() is called.
    [[nodiscard]] int child_end() const { return child_end_.get(); }
    void handed_over() { child_end_.reset(); }
    /// Changes the owner of all later lines.
    void belongs_to(OutputOwner owner) { owner_ = std::move(owner); }
    /// To be called when the process has ended: logs what is still in the pipe and closes it.
    void finish();

  private:
    /// False if there is no more to read for now.
    bool read_some();
    void take(std::string_view text);
    void log_line(std::string_view line);
    void close();

    Loop& loop_;
    const Logger& log_;
    OutputOwner owner_;
    UniqueFd child_end_;
    UniqueFd pipe_;
    std::string line_;     ///< The part of the current line that has been read.
    bool is_cut_ = false;  ///< The line is longer than kOutputLineMax: the rest is skipped.
    int lines_ = 0;
};

}  // namespace stage
