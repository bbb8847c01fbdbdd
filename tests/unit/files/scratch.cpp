#include "tests/unit/files/scratch.h"

#include "stager/disk/disk_io.h"
#include "stager/removal/cleanup_entry.h"
#include "stager/removal/removal.h"
#include "transport/base/prng.h"

#include <boost/filesystem.hpp>
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>

namespace stage::test {

namespace fs = boost::filesystem;

Scratch::Scratch() : path_{"/var/tmp/stagecast-unit-XXXXXX"} {
    invariant(::mkdtemp(path_.data()) != nullptr, "/var/tmp can be written");
}

Scratch::~Scratch() {
    boost::system::error_code ignored;
    fs::remove_all(path_, ignored);
}

std::string Scratch::path(const std::string& below) const {
    return below.empty() ? path_ : path_ + '/' + below;
}

std::string Scratch::write(const std::string& below, const std::string& content) const {
    const fs::path file{path(below)};
    boost::system::error_code ignored;
    fs::create_directories(file.parent_path(), ignored);
    std::ofstream{file.string(), std::ios::binary} << content;
    return file.string();
}

std::vector<std::string> Scratch::names() const {
    std::vector<std::string> names;
    boost::system::error_code error;
    for (fs::recursive_directory_iterator at{path_, error}, end; at != end;
         at.increment(error)) {
        if (!fs::is_directory(at->symlink_status())) {
            names.push_back(at->path().string().substr(path_.size() + 1));
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

struct stat status_of(const std::string& path) {
    struct stat status {};
    REQUIRE(::lstat(path.c_str(), &status) == 0);
    return status;
}

std::string removal_there(const std::string& path) {
    const UniqueFd own{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    REQUIRE(own);
    return removal_entry(path, own.get());
}

std::size_t follow_list(const std::vector<std::string>& own,
                        const std::vector<std::vector<std::string>>& others,
                        std::vector<std::string>* passed_on) {
    const Scratch place;
    const auto list_of = [&place](const std::vector<std::string>& entries, std::size_t number) {
        std::string text;
        for (const std::string& entry : entries) {
            text += entry + '\0';
        }
        const std::string path = place.write(std::to_string(number), text);
        return UniqueFd{::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC)};
    };
    std::vector<UniqueFd> own_lists;
    own_lists.push_back(list_of(own, 0));
    std::vector<UniqueFd> other_lists;
    for (const auto& entries : others) {
        other_lists.push_back(list_of(entries, other_lists.size() + 1));
    }
    const Removed removed = follow_cleanup_lists(own_lists, other_lists);
    CHECK(removed.why_kept + removed.why_stays == "");
    if (passed_on != nullptr) {
        *passed_on = split_cleanup_list(content_of(place.path("1")));
        const auto before = static_cast<std::ptrdiff_t>(others.at(0).size());
        passed_on->erase(passed_on->begin(), passed_on->begin() + before);
        CHECK(removed.passed_on == passed_on->size());
    }
    return removed.count;
}

std::string content_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream{path, std::ios::binary}.rdbuf();
    return text.str();
}

std::string noise(std::size_t size, std::uint64_t seed) {
    Prng prng{seed};
    std::string text(size, '\0');
    for (char& byte : text) {
        byte = static_cast<char>(prng.below(256));
    }
    return text;
}

std::uint64_t resident(int fd, std::uint64_t begin, std::uint64_t end) {
    const std::size_t size = end - begin;
    void* map = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(begin));
    REQUIRE(map != MAP_FAILED);
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> pages((size + page - 1) / page);
    const bool is_known = ::mincore(map, size, pages.data()) == 0;
    static_cast<void>(::munmap(map, size));
    REQUIRE(is_known);
    const auto here = [](unsigned char one) { return (one & 1U) != 0; };
    return page * static_cast<std::uint64_t>(std::ranges::count_if(pages, here));
}

bool is_on_tmpfs(int fd) {
    struct statfs disk {};
    return ::fstatfs(fd, &disk) == 0 && disk.f_type == TMPFS_MAGIC;
}

std::string in_child(const std::function<std::string()>& work) {
    std::array<int, 2> ends{};
    invariant(::pipe(ends.data()) == 0, "a pipe can be made");
    const pid_t child = ::fork();
    if (child == 0) {
        const std::string text = work();
        const bool is_written =
            write_fully(ends[1], {}, 0) &&
            ::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
        ::_exit(is_written ? 0 : 1);
    }
    ::close(ends[1]);
    std::string text;
    std::array<char, 4096> room{};
    ssize_t count = 0;
    while ((count = ::read(ends[0], room.data(), room.size())) > 0) {
        text.append(room.data(), static_cast<std::size_t>(count));
    }
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : "died";
}

bool mount_small(const std::string& path, std::uint64_t size) {
    const std::string options = "size=" + std::to_string(size) + ",mode=1777";
    boost::system::error_code ignored;
    fs::create_directories(path, ignored);
    return ::unshare(CLONE_NEWNS) == 0 &&
           ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("small", path.c_str(), "tmpfs", 0, options.c_str()) == 0;
}

bool mount_lying(const std::string& path, std::uint64_t size) {
    const std::string disk = path + ".disk";
    boost::system::error_code ignored;
    fs::create_directories(path, ignored);
    const std::string make = "exec > /dev/null 2>&1; truncate -s 256M " + disk +
                             "/image && mkfs.ext4 -q -F -O ^has_journal " + disk +
                             "/image && mount -o loop " + disk + "/image " + path;
    // NOLINTNEXTLINE(concurrency-mt-unsafe,cert-env33-c): in a child, with names of our own.
    return mount_small(disk, size) && std::system(make.c_str()) == 0;
}

bool remount_read_only(const std::string& path) {
    return ::mount(nullptr, path.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0;
}

bool become_nobody() {
    constexpr uid_t kNobody = 65534;
    return ::setgroups(0, nullptr) == 0 && ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0;
}

std::vector<SourceOrder> source_orders(const std::vector<Spec>& specs) {
    std::vector<SourceOrder> orders;
    for (const Spec& spec : specs) {
        orders.push_back({.spec = static_cast<std::uint16_t>(orders.size()),
                          .path = spec.source,
                          .line = {},
                          .is_optional = spec.is_optional});
    }
    return orders;
}

SinkConfig sink_config(const std::vector<Spec>& specs,
                       const std::string& lists,
                       std::uint32_t rank,
                       std::uint32_t size) {
    SinkConfig config;
    config.writer = {.job = "42", .rank = rank, .group_size = size};
    config.list_directory = lists;
    config.order_of = [specs](const ManifestEntry& entry) -> Result<SinkOrder> {
        const Spec& spec = specs.at(entry.spec);
        SinkOrder order;
        order.target.place = {.root = spec.root,
                              .below = spec.below,
                              .makes_directories = true,
                              .refuses_network = true,
                              .guarded_by = spec.guarded_by};
        order.target.keeps_owners = spec.keeps_owners;
        order.target.skips_devices = spec.skips_devices;
        order.is_of_program = spec.is_of_program;
        order.target.existing = spec.existing;
        order.target.archive = spec.is_unpacked ? spec.source : "";
        order.is_optional = spec.is_optional;
        order.is_temporary = spec.is_temporary;
        return order;
    };
    return config;
}

SinkConfig telling_config(const std::vector<Spec>& specs,
                          const std::string& lists,
                          std::vector<std::string>& listed) {
    SinkConfig config = sink_config(specs, lists);
    config.extend_cleanup_list = [&listed](const std::vector<std::string>& entries) {
        listed.insert(listed.end(), entries.begin(), entries.end());
        return Status{};
    };
    return config;
}

Result<std::vector<std::vector<std::byte>>> blocks_of(BlockSource& source) {
    std::vector<std::vector<std::byte>> blocks;
    for (std::uint32_t i = 0; i < source.block_count(); ++i) {
        std::vector<std::byte> block(kBlockBytes);
        const Result<SourceBlock> got = source.read(BlockIndex{i}, block);
        if (!got) {
            return got.error();
        }
        block.resize(got->length);
        CHECK(got->leaf == xxh3_128(block));
        blocks.push_back(std::move(block));
    }
    return blocks;
}

std::vector<std::vector<std::byte>> object_of(const std::vector<Spec>& specs) {
    auto source = FileSource::open(source_orders(specs), 0);
    REQUIRE(source);
    auto blocks = blocks_of(**source);
    REQUIRE(blocks);
    return *blocks;
}

Status deliver(const std::vector<std::vector<std::byte>>& blocks,
               BlockSink& sink,
               std::uint64_t seed) {
    Prng prng{seed};
    std::vector<std::uint32_t> queue(blocks.size());
    std::iota(queue.begin(), queue.end(), 0U);
    for (std::size_t i = queue.size(); i > 1; --i) {
        std::swap(queue[i - 1], queue[prng.below(i)]);
    }
    while (!queue.empty()) {
        std::vector<std::uint32_t> deferred;
        for (const std::uint32_t index : queue) {
            const Result<Placing> placing = test::put(sink, index, blocks[index]);
            if (!placing) {
                return placing.error();
            }
            if (*placing == Placing::deferred) {
                deferred.push_back(index);
            }
        }
        invariant(deferred.size() < queue.size(), "a round places something");
        queue = std::move(deferred);
    }
    return sink.finish();
}

Status stage_all(const std::vector<Spec>& specs, std::uint64_t seed) {
    auto source = FileSource::open(source_orders(specs), 0);
    if (!source) {
        return std::move(source).error();
    }
    const auto blocks = blocks_of(**source);
    if (!blocks) {
        return blocks.error();
    }
    FileSink sink{sink_config(specs)};
    return deliver(*blocks, sink, seed);
}

std::string said(const Status& status) {
    return status ? "ok" : status.error().sentence();
}

Result<Placing> put(BlockSink& sink, std::uint32_t block, Bytes bytes) {
    return sink.write(BlockIndex{block}, bytes, xxh3_128(bytes));
}

}  // namespace stage::test
