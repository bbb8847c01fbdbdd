#include "stager/cli/doctor/slurm/scontrol.h"

#include <array>
#include <cstdio>
#include <memory>
#include <sstream>

namespace stage {
namespace {

struct StreamClose {
    void operator()(std::FILE* stream) const { ::pclose(stream); }
};

/// The text after `key` ("NodeName=n0") if the word begins with it.
void take(const std::string& word, const std::string& key, std::string& value) {
    if (value.empty() && word.starts_with(key)) {
        value = word.substr(key.size());
    }
}

}  // namespace

std::string output_of(const std::string& line) {
    const std::unique_ptr<std::FILE, StreamClose> stream{
        ::popen(line.c_str(), "re")};  // NOLINT(cert-env33-c)
    std::string printed;
    std::array<char, 4096> chunk{};
    while (stream) {
        const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), stream.get());
        if (got == 0) {
            break;
        }
        printed.append(chunk.data(), got);
    }
    return printed;
}

std::string scontrol_show(const std::string& what) {
    return output_of("exec scontrol --oneliner show " + what + " 2>/dev/null");
}

SlurmSettings settings_of(const std::string& printed) {
    SlurmSettings settings;
    std::istringstream lines{printed};
    for (std::string line; std::getline(lines, line);) {
        const std::size_t equals = line.find('=');
        if (equals == std::string::npos) {
            continue;
        }
        const std::string name = line.substr(0, line.find_first_of(" ="));
        const std::size_t value = line.find_first_not_of(' ', equals + 1);
        settings[name] = value == std::string::npos ? "" : line.substr(value);
    }
    return settings;
}

std::string setting(const SlurmSettings& settings, const std::string& name) {
    const auto found = settings.find(name);
    return found == settings.end() || found->second == "(null)" ? "" : found->second;
}

std::vector<HostedNode> nodes_of(const std::string& printed) {
    std::vector<HostedNode> nodes;
    std::istringstream lines{printed};
    for (std::string line; std::getline(lines, line);) {
        HostedNode node;
        std::istringstream words{line};
        for (std::string word; words >> word;) {
            take(word, "NodeName=", node.name);
            take(word, "NodeHostName=", node.host);
            take(word, "NodeAddr=", node.address);
        }
        if (!node.name.empty()) {
            nodes.push_back(std::move(node));
        }
    }
    return nodes;
}

}  // namespace stage
