// Writes log lines for the operator.
//
// One line for each event: a fixed message to search for, then facts as key=value. Nothing for
// single packets. A warning says what the operator can do. Lines go to a sink that the
// program's main() passes (stderr, so the journal; a test's vector). Never log a key.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace stage {

enum class LogLevel : unsigned char { debug, info, warn, error };

/// A fact beside the sentence.
struct LogField {
    std::string_view key;
    std::string value;

    LogField(std::string_view key_, std::string_view text) : key{key_}, value{text} {}
    LogField(std::string_view key_, const char* text) : key{key_}, value{text} {}
    LogField(std::string_view key_, const std::string& text) : key{key_}, value{text} {}
    template <class Number>
    requires std::is_arithmetic_v<Number> LogField(std::string_view key_, Number number)
        : key{key_}, value{std::to_string(number)} {}
};

/// Whether descriptor `fd` is the journal's: systemd names the stream that it gave a service as
/// "DEVICE:INODE" in JOURNAL_STREAM. A program whose stderr was redirected since has the
/// variable all the same.
[[nodiscard]] bool is_journal(std::string_view journal_stream, int fd);

/// "stagecastd: info: sentence\n". For the journal with the priority in front, as sd-daemon(3)
/// has it, "<6>": so that `journalctl -p warning` finds warnings.
[[nodiscard]] std::string stderr_line(std::string_view program,
                                      LogLevel level,
                                      std::string_view line,
                                      bool for_journal);

class Logger {
  public:
    using Sink = std::function<void(LogLevel, std::string_view line)>;

    /// Lines below `least` are dropped. A prefix names the program or the job.
    Logger(Sink sink, LogLevel least) : sink_{std::move(sink)}, least_{least} {}

    /// To stderr, one write per line, "stagecastd: info: sentence key=value"; see
    /// stderr_line().
    static Logger to_stderr(std::string program, LogLevel least);

    /// From now on.
    void set_least(LogLevel least) { least_ = least; }

    void debug(std::string_view sentence, std::initializer_list<LogField> fields = {}) const;
    void info(std::string_view sentence, std::initializer_list<LogField> fields = {}) const;
    void warn(std::string_view sentence, std::initializer_list<LogField> fields = {}) const;
    void error(std::string_view sentence, std::initializer_list<LogField> fields = {}) const;

  private:
    void write(LogLevel level,
               std::string_view sentence,
               std::initializer_list<LogField> fields) const;

    Sink sink_;
    LogLevel least_;
};

}  // namespace stage
