// Shared by tests of the node cache: a daemon's loop and spawner around one. As root.
#pragma once

#include "stager/cache/copier.h"
#include "stager/daemon/base/children.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/cache/node_cache.h"
#include "stager/messages/untrusted_fd.h"
#include "tests/unit/daemon/run_until.h"
#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <span>

namespace stage {

inline int copy_as_nobody(int fd) {
    return run_cache_copier(fd, 65'534, 65'534);
}

inline constexpr std::uint32_t kAlice = 2001;
inline constexpr std::uint32_t kBob = 2002;

inline SourceStamp stamp(unsigned number) {
    return {static_cast<std::byte>(number)};
}
inline WorkerAsk about(Bytes name) {
    return {.about = {name.begin(), name.end()}};
}
inline Digest128 sum_of_text(const std::string& text) {
    ContentHasher hasher;
    const Bytes bytes = std::as_bytes(std::span{text});
    for (std::size_t at = 0; at < bytes.size(); at += kBlockBytes) {
        hasher.add(bytes.subspan(at, std::min<std::size_t>(kBlockBytes, bytes.size() - at)));
    }
    return hasher.content().sum;
}

/// A daemon's loop and spawner around a cache.
class CacheWorld {
  public:
    explicit CacheWorld(std::uint64_t size, const SpawnRole& copier = copy_as_nobody) {
        config_.cache_dir = scratch_.path("cache");
        config_.stage_root = scratch_.path("stage");
        config_.cache_size = size;
        config_.allow_ram_stage_root = true;
        auto spawner = Spawner::fork({.roles = {copier}, .cgroup = {}});
        REQUIRE(spawner);
        auto loop = Loop::open();
        REQUIRE(loop);
        loop_.emplace(std::move(*loop));
        auto children = Children::open(*loop_, std::move(*spawner), [](const Error&) {});
        REQUIRE(children);
        children_ = std::move(*children);
        basics_.emplace(Basics{.loop = *loop_,
                               .log = quiet_,
                               .config = config_,
                               .counters = counters,
                               .children = *children_});
        restart();
    }

    /// Opens the cache as the next daemon finds it.
    void restart() {
        cache_.reset();
        cache_.emplace(*basics_, 0U);
        cache_->open();
    }

    NodeCache& cache() { return *cache_; }
    [[nodiscard]] std::string path() const { return config_.cache_dir; }

    void run_until(const std::function<bool()>& done) { stage::run_until(*loop_, done); }

    /// A worker of `uid` hands over a file with this text, and says that its sum is `sum`'s.
    void keep(NodeCache::Member member,
              std::uint32_t uid,
              const SourceStamp& of,
              const std::string& text,
              const std::string& sum) {
        cache().keep(member,
                     uid,
                     {.stamp = of, .sum = sum_of_text(sum), .bytes = text.size()},
                     UntrustedFd{text_file(text)});
    }
    UniqueFd text_file(const std::string& text) {
        const std::string path = scratch_.write("staged" + std::to_string(++files_), text);
        return UniqueFd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    }
    /// Some descriptor, said to be so long.
    void keep_as(NodeCache::Member member,
                 std::uint32_t uid,
                 const SourceStamp& of,
                 UniqueFd file,
                 std::uint64_t bytes) {
        cache().keep(member,
                     uid,
                     {.stamp = of, .sum = {}, .bytes = bytes},
                     UntrustedFd{std::move(file)});
    }

    /// What is in the file of that stamp, as the cache tells `uid`; "" if it doesn't know.
    std::string cached_text(NodeCache::Member member,
                            std::uint32_t uid,
                            const SourceStamp& of) {
        std::vector<std::byte> content;
        cache().ask(member, uid, about(of), [&](const WorkerCacheReply& reply, int) {
            content = reply.content;
        });
        return content.empty() ? "" : read(member, uid, content);
    }
    std::string read(NodeCache::Member member, std::uint32_t uid, Bytes content) {
        std::string text;
        cache().ask(member, uid, about(content), [&](const WorkerCacheReply&, int file) {
            std::array<char, 64> room{};
            const ssize_t got = file < 0 ? 0 : ::pread(file, room.data(), room.size(), 0);
            text.assign(room.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        });
        return text;
    }

    Counters counters;

  private:
    test::Scratch scratch_;
    Config config_;
    Logger quiet_{[](LogLevel, std::string_view) {}, LogLevel::error};
    std::optional<Loop> loop_;
    std::unique_ptr<Children> children_;
    std::optional<Basics> basics_;
    std::optional<NodeCache> cache_;
    unsigned files_ = 0;
};

}  // namespace stage
