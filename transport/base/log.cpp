#include "transport/base/log.h"

#include "transport/base/hex.h"
#include "transport/base/text.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace stage {
namespace {

constexpr std::array<std::string_view, 4> kNames{"debug", "info", "warning", "error"};
constexpr std::array<std::string_view, 4> kPriorities{"<7>", "<6>", "<4>", "<3>"};

/// Quotes a value with a space, a quote or a control character, so that untrusted text can
/// neither forge a field or a line nor control a terminal.
std::string quoted(const std::string& value) {
    const auto is_plain = [](char c) { return c > ' ' && c < '\x7f' && c != '"' && c != '='; };
    if (!value.empty() && std::ranges::all_of(value, is_plain)) {
        return value;
    }
    std::string out = "\"";
    for (std::string_view rest = value; !rest.empty();) {
        const std::size_t shown = shown_length(rest);
        if (rest.front() == '"' || rest.front() == '\\') {
            out += '\\';
        }
        if (shown == 0) {
            out += "\\x";
            append_hex(out, static_cast<unsigned char>(rest.front()));
        } else {
            out += rest.substr(0, shown);
        }
        rest.remove_prefix(shown == 0 ? 1 : shown);
    }
    return out + '"';
}

}  // namespace

bool is_journal(std::string_view journal_stream, int fd) {
    struct stat status {};
    return !journal_stream.empty() && ::fstat(fd, &status) == 0 &&
           journal_stream ==
               std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

std::string stderr_line(std::string_view program,
                        LogLevel level,
                        std::string_view line,
                        bool for_journal) {
    const auto at = static_cast<std::size_t>(level);
    std::string text{for_journal ? kPriorities[at] : ""};
    text.append(program).append(": ").append(kNames[at]).append(": ").append(line);
    return text + '\n';
}

Logger Logger::to_stderr(std::string program, LogLevel least) {
    const char* const stream = std::getenv("JOURNAL_STREAM");  // NOLINT(concurrency-mt-unsafe)
    const bool for_journal = is_journal(stream == nullptr ? "" : stream, STDERR_FILENO);
    const auto sink = [program = std::move(program), for_journal](LogLevel level,
                                                                  std::string_view line) {
        const std::string text = stderr_line(program, level, line, for_journal);
        // A log that can't be written must not stop the work.
        [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    };
    return {sink, least};
}

void Logger::debug(std::string_view sentence, std::initializer_list<LogField> fields) const {
    write(LogLevel::debug, sentence, fields);
}

void Logger::info(std::string_view sentence, std::initializer_list<LogField> fields) const {
    write(LogLevel::info, sentence, fields);
}

void Logger::warn(std::string_view sentence, std::initializer_list<LogField> fields) const {
    write(LogLevel::warn, sentence, fields);
}

void Logger::error(std::string_view sentence, std::initializer_list<LogField> fields) const {
    write(LogLevel::error, sentence, fields);
}

void Logger::write(LogLevel level,
                   std::string_view sentence,
                   std::initializer_list<LogField> fields) const {
    if (level < least_) {
        return;
    }
    std::string line{sentence};
    for (const LogField& field : fields) {
        line += ' ';
        line += field.key;
        line += '=';
        line += quoted(field.value);
    }
    sink_(level, line);
}

}  // namespace stage
