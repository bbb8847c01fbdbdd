// Measures how long TreeWriter takes for 100,000 files of 4 KB by a number of threads.
#include "stager/files/tree/tree_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace stage {
namespace {

constexpr std::uint32_t kDirectories = 1000;
constexpr std::uint32_t kFilesInEach = 100;
constexpr std::size_t kBytes = 4096;
constexpr std::size_t kBlock = 1U << 20U;

std::string numbered(char kind, std::uint32_t number) {
    return kind + std::to_string(100'000 + number);
}

bool add_all(TreeIndex& index) {
    TreeNode node;
    node.mode = 0755;
    node.uid = ::geteuid();
    node.gid = ::getegid();
    bool is_added = index.add(node).ok();
    for (std::uint32_t i = 0; i < kDirectories; ++i) {
        node.name = numbered('d', i);
        is_added = is_added && index.add(node).ok();
    }
    node.kind = TreeKind::file;
    node.size = kBytes;
    for (std::uint32_t i = 0; i < kDirectories * kFilesInEach; ++i) {
        node.parent = 1 + i / kFilesInEach;
        node.name = numbered('f', i);
        is_added = is_added && index.add(node).ok();
    }
    return is_added;
}

bool write_all(TreeWriter& writer, std::uint64_t bytes) {
    const std::vector<std::byte> block(kBlock);
    Status done = writer.make_directories();
    for (std::uint64_t at = 0; at < bytes && done; at += kBlock) {
        const auto length = std::min<std::uint64_t>(kBlock, bytes - at);
        done = writer.write(at, Bytes{block}.first(length));
    }
    return done && writer.finish();
}

int run(const char* directory, unsigned threads) {
    TreeIndex index;
    if (!add_all(index)) {
        return EXIT_FAILURE;
    }
    UniqueFd top{::open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC)};
    TreeWriter writer{index, std::move(top), directory, kAllPages, threads};
    const auto began = std::chrono::steady_clock::now();
    if (!write_all(writer, index.data_bytes())) {
        return EXIT_FAILURE;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::printf("%.3f\n", took.count());
    return EXIT_SUCCESS;
}

}  // namespace
}  // namespace stage

int main(int argc, char** argv) {
    return argc == 3 ? stage::run(argv[1], static_cast<unsigned>(std::atoi(argv[2])))
                     : EXIT_FAILURE;
}
