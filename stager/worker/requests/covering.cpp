#include "stager/worker/requests/covering.h"

#include <algorithm>
#include <numeric>

namespace stage {
namespace {

std::size_t depth(const std::string& path) {
    return path == "/" ? 0 : static_cast<std::size_t>(std::ranges::count(path, '/'));
}

std::string parent(const std::string& path) {
    return path.substr(0, std::max<std::size_t>(1, path.rfind('/')));
}

}  // namespace

std::vector<std::string> covering(std::set<std::string> directories,
                                  std::size_t count_max,
                                  std::size_t bytes_max) {
    const auto bytes = [&] {
        return std::accumulate(
            directories.begin(),
            directories.end(),
            std::size_t{0},
            [](std::size_t sum, const std::string& one) { return sum + one.size(); });
    };
    while (directories.size() > count_max || bytes() > bytes_max) {
        const std::size_t deepest = depth(*std::ranges::max_element(directories, {}, depth));
        if (deepest == 0) {
            break;
        }
        std::set<std::string> fewer;
        for (const std::string& one : directories) {
            fewer.insert(depth(one) == deepest ? parent(one) : one);
        }
        directories = std::move(fewer);
    }
    return {directories.begin(), directories.end()};
}

}  // namespace stage
