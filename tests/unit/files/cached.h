// Helpers for tests of a sink with a node cache.
#pragma once

#include "stager/disk/disk_io.h"
#include "stager/files/sink/file_sink.h"
#include "stager/files/sink/source_and_sink.h"
#include "stager/files/source/file_source.h"
#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace stage::test {

inline UniqueFd reading(const std::string& path) {
    return UniqueFd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
}

inline Content content_of_bytes_in(const std::string& bytes) {
    ContentHasher hasher;
    for (std::size_t at = 0; at < bytes.size(); at += kBlockBytes) {
        const std::string block = bytes.substr(at, kBlockBytes);
        hasher.add(std::as_bytes(std::span{block}));
    }
    return hasher.content();
}

/// The object of these files, from a source that knows the content of the first one.
struct Offer {
    Offer(const std::vector<Spec>& specs, const Content& content) {
        auto source = FileSource::open(source_orders(specs), 0);
        REQUIRE(source);
        Manifest known = (*source)->manifest();
        known.entries[0].stamp.assign(32, std::byte{5});
        known.entries[0].content = bytes_of(content);
        REQUIRE(known.lay_out().ok());
        manifest = encode_manifest(known);
        blocks = object_of(specs);
        blocks[0] = manifest;
    }
    std::vector<std::byte> manifest;
    std::vector<std::vector<std::byte>> blocks;
};

/// A sink that was offered it and may look into a cache that has `cached`.
struct Filled {
    Filled(const std::vector<Spec>& specs,
           const Offer& offer,
           const std::string& cached,
           int checks_max = 1000)
        : sink{sink_config(specs)} {
        REQUIRE(said(sink.expect(offer.manifest)) == "ok");
        const auto find = [&](const Content&) {
            ++asked;
            return cached.empty() ? UniqueFd{} : reading(cached);
        };
        const auto check = [&] {
            return ++checks > checks_max ? Status{Error{Blame::user, "enough", ECANCELED}}
                                         : Status{};
        };
        status = sink.fill(
            {.find = find, .spoilt = [this](const Content&) { ++spoilt; }, .check = check});
    }
    FileSink sink;
    Status status;
    int asked = 0;
    int spoilt = 0;
    int checks = 0;
};

/// The content of `file`, at most one byte more than `size`.
inline std::string all_of(int file, std::size_t size) {
    std::string bytes(size + 1, '\0');
    const std::int64_t got = read_fully(file, std::as_writable_bytes(std::span{bytes}), 0);
    bytes.resize(static_cast<std::size_t>(std::max<std::int64_t>(got, 0)));
    return bytes;
}

/// A source with a sink on its own node.
class Sender {
  public:
    Sender(const std::vector<Spec>& specs, FileSink& sink)
        : source_{*FileSource::open(source_orders(specs), 0)}, both_{*source_, sink} {}

    /// It gives this block as the offer has it.
    void check(std::uint32_t block, const Offer& offer) {
        std::vector<std::byte> room(kBlockBytes);
        const auto read = both_.read(BlockIndex{block}, room);
        REQUIRE(read);
        const Bytes sent = Bytes{room}.first(read->length);
        CHECK(std::ranges::equal(sent, offer.blocks[block]));
        CHECK(read->leaf == xxh3_128(sent));
    }
    void check_all(const Offer& offer) {
        for (std::uint32_t block = 1; block < both_.block_count(); ++block) {
            check(block, offer);
        }
    }
    /// The bytes read from its files for what it gave.
    [[nodiscard]] std::uint64_t bytes_read() const { return source_->bytes_read(); }

  private:
    std::unique_ptr<FileSource> source_;
    SourceAndSink both_;
};

/// The source whose node has `sink` gives all blocks, and they are the offer's; tells how many
/// bytes it read of its files for that.
inline std::uint64_t read_to_send(const std::vector<Spec>& specs,
                                  const Offer& offer,
                                  FileSink& sink) {
    Sender sender{specs, sink};
    sender.check_all(offer);
    return sender.bytes_read();
}

}  // namespace stage::test
