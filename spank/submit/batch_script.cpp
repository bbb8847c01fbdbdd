#include "spank/submit/batch_script.h"

#include "spank/submit/client_words.h"
#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace stage {
namespace {

/// The part of a script that is searched for options.
constexpr std::size_t kMaxHeadBytes = 64U << 10U;
constexpr std::string_view kMark = "#SBATCH";
constexpr std::string_view kBlank = " \t\r";

/// Reads the beginning of a regular file if it is a script.
std::string head_of(const std::string& path) {
    const UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return {};
    }
    std::string text(kMaxHeadBytes, '\0');
    const auto count = ::read(fd.get(), text.data(), text.size());
    text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return text.starts_with("#!") ? text : std::string{};
}

std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words;
    while (true) {
        const std::size_t begin = line.find_first_not_of(kBlank);
        if (begin == std::string_view::npos) {
            return words;
        }
        line.remove_prefix(begin);
        const std::size_t end = std::min(line.find_first_of(kBlank), line.size());
        std::string& word = words.emplace_back(line.substr(0, end));
        std::erase_if(word, [](char c) { return c == '"' || c == '\''; });
        line.remove_prefix(end);
    }
}

/// Returns the cluster named in one line.
std::optional<std::string> cluster_in_line(std::string_view line) {
    if (!line.starts_with(kMark)) {
        return std::nullopt;
    }
    const auto words = words_of(line.substr(kMark.size()));
    return argument_value(words, "--clusters", "--cluster", 'M');
}

std::optional<std::string> cluster_in(std::string_view script) {
    while (!script.empty()) {
        const std::string_view line = script.substr(0, script.find('\n'));
        script.remove_prefix(std::min(script.size(), line.size() + 1));
        const std::size_t text = line.find_first_not_of(kBlank);
        if (text != std::string_view::npos && line[text] != '#') {
            break;
        }
        if (auto named = cluster_in_line(line)) {
            return named;
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string> cluster_of_script(const std::string& script,
                                             const std::string& directory) {
    std::string path = script.starts_with('/') ? "" : directory + '/';
    return cluster_in(head_of(path.append(script)));
}

}  // namespace stage
