// Seals frames between daemons and derives the keys.
//
// No I/O: bytes in, bytes out. A frame on the wire is
//
//     0   u32  length of what follows (plain bytes + 16), also the seal's additional data
//     4   ...  AES-128-GCM of the plain bytes
//     -16 ...  tag
//
// Each direction has a key and a 12-byte nonce base of its own; frame number k (from 0, 64
// bits, never sent) is sealed with base xor k. TCP keeps the order, so that a frame that an
// attacker removes, repeats, reorders or truncates fails to open, and the link ends.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

struct evp_cipher_ctx_st;

namespace stage {

/// Longest plain frame: a SETUP for 10,000 nodes is about 1 MiB.
inline constexpr std::size_t kFrameMax = 4U << 20U;
inline constexpr std::size_t kFrameHeader = 4;
inline constexpr std::size_t kFrameTag = 16;

using LinkSecret = std::array<std::byte, 32>;
using LinkNonce = std::array<std::byte, 32>;
using TranscriptHash = std::array<std::byte, 32>;

/// The key of one direction. Wiped on destruction.
struct DirectionKey {
    std::array<std::byte, 16> key{};
    std::array<std::byte, 12> nonce_base{};

    DirectionKey() = default;
    DirectionKey(const DirectionKey&) = default;
    DirectionKey& operator=(const DirectionKey&) = default;
    ~DirectionKey();
};

struct LinkKeys {
    DirectionKey to_acceptor;
    DirectionKey to_connector;
};

[[nodiscard]] TranscriptHash hash_transcript(Bytes messages);

/// HKDF-SHA256, an output each for the labels "`label` key" and "`label` nonce".
[[nodiscard]] DirectionKey derive_direction(Bytes secret, Bytes salt, std::string_view label);

/// derive_direction() with salt = transcript, secret = connector's secret, acceptor's, then
/// `common` (key_exchange.h; empty in version 1), for "stagecast link 1 to acceptor" and "...
/// to connector".
[[nodiscard]] LinkKeys derive_link_keys(const LinkSecret& connector,
                                        const LinkSecret& acceptor,
                                        Bytes common,
                                        const TranscriptHash& transcript);

struct CipherContextFree {
    void operator()(evp_cipher_ctx_st* context) const;
};
using CipherContext = std::unique_ptr<evp_cipher_ctx_st, CipherContextFree>;

class FrameSealer {
  public:
    explicit FrameSealer(const DirectionKey& key);
    /// Appends the sealed frame to `out`. Requires 1 to kFrameMax bytes.
    void seal(Bytes plain, std::vector<std::byte>& out);

  private:
    CipherContext context_;
    DirectionKey key_;
    std::uint64_t number_ = 0;
};

class FrameOpener {
  public:
    explicit FrameOpener(const DirectionKey& key);
    /// The length of the frame that begins with these 4 bytes, or an error if no frame can have
    /// that length.
    [[nodiscard]] static Result<std::size_t> whole_length(Bytes header);
    /// The plain bytes of one whole frame. After an error the opener can't be used any more.
    Result<std::vector<std::byte>> open(Bytes frame);

  private:
    CipherContext context_;
    DirectionKey key_;
    std::uint64_t number_ = 0;
};

}  // namespace stage
