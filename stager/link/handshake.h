// Authenticates two daemons to each other and derives the link's keys.
//
// No I/O: messages and munge's answers in, messages and questions to munge out. In order:
//
//     connector                                    acceptor
//     GREETING {versions, nonce, from, to}    ->
//                                             <-   GREETING {versions, nonce, from, to}
//     CREDENTIAL munge{secret, both nonces,
//                names, role, versions}       ->   opens it: uid, own nonce, names, role
//                                             <-   CREDENTIAL munge{the same of its own}
//     opens it                                     both: keys from secrets and transcript
//     FINISHED (first sealed frame)          <->   FINISHED (first sealed frame)
//
// Only root can open the credentials, so only root knows the secrets; each contains the nonce
// that the reader drew for this connection, so that an old one is useless; role, names and
// versions in it prevent reflection, redirection and a version downgrade. An acceptor asks
// munge nothing until the peer has sent a credential to open.
//
// Each secret is a public key (key_exchange.h). From version 2 on what both ends compute of
// them is part of the keys, so that a recorded login is of no use to an attacker who can open
// its credentials later. Only a peer that has proved itself costs such a computation.
//
// Every message is a u32 length and that number of bytes, of which the first is the type;
// numbers are big-endian, texts have a u32 length, nonces and secrets are 32 bytes:
//
//     GREETING   u8 1, u32 "SCL1", u16 lowest, u16 highest version, nonce, text from, text to
//     CREDENTIAL u8 2, text credential; in it: u32 "SCC1", u8 role, u16 lowest, u16 highest,
//                secret, own nonce, the other's nonce, text from, text to
//     REFUSAL    u8 3, u8 code, u16 lowest, u16 highest, u64 encoded at, u64 decoded at, text
//     name
//
// A REFUSAL {code, times} may come instead of an answer, unencrypted: it is only a hint for the
// error message.
#pragma once

#include "stager/link/credentials.h"
#include "stager/link/frame_seal.h"
#include "transport/base/codec.h"
#include "transport/base/result.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// The link protocol versions of this program.
inline constexpr std::uint16_t kLinkVersionMin = 1;
inline constexpr std::uint16_t kLinkVersionMax = 2;
/// The first version whose keys are those of an exchange.
inline constexpr std::uint16_t kLinkVersionExchange = 2;
/// Longest message before the keys, its 4-byte length not counted.
inline constexpr std::size_t kGreetingMax = 8U << 10U;
inline constexpr std::size_t kNodeNameMax = 255;

struct VersionRange {
    std::uint16_t lowest = 0;
    std::uint16_t highest = 0;
    bool operator==(const VersionRange&) const = default;
};

/// The versions that this process can use: 2 needs X25519, which OpenSSL may not have.
[[nodiscard]] VersionRange own_versions();

enum class LinkRole : std::uint8_t { connector = 0, acceptor = 1 };

/// Why the other end refuses. Encoded by number: append only.
enum class RefusalCode : std::uint8_t {
    versions = 1,      ///< No common version.
    name = 2,          ///< The sender is another node.
    credential = 3,    ///< Munge refuses it: another key, malformed.
    clock = 4,         ///< Expired or from the future.
    uid = 5,           ///< Not made by root.
    munge_silent = 6,  ///< Munge on the sender's node does not answer.
    content = 7,       ///< Opened, but its content is wrong.
};

struct Refusal {
    RefusalCode code = RefusalCode::content;
    VersionRange versions;        ///< For `versions`: the sender's.
    std::int64_t encoded_at = 0;  ///< For `clock`: the maker's clock, seconds since the epoch,
    std::int64_t decoded_at = 0;  ///< and the reader's.
    std::string name;             ///< For `name`: the sender's.
    bool operator==(const Refusal&) const = default;
};

/// The message of both ends: "the clocks of nodes n0 and n3 are 3600 s apart (n3 is
/// behind)...".
[[nodiscard]] std::string clock_sentence(const std::string& maker,
                                         const std::string& reader,
                                         std::int64_t encoded_at,
                                         std::int64_t decoded_at);

class Handshake {
  public:
    /// What is known before the first byte. Private key and nonce are fresh from
    /// getrandom().
    struct Start {
        LinkRole role = LinkRole::connector;
        std::string
            own_name;  ///< May be empty for an acceptor: it takes the name it is called.
        std::string peer_name;  ///< The node that the connector wants; empty for an acceptor.
        /// An acceptor's: other clusters' daemons call it by cluster_name.h, with this name.
        std::string cluster_name{};
        VersionRange versions;
        std::vector<uid_t> trusted_uids;
        std::string differs{};     ///< CredentialRemedies::differs.
        LinkSecret private_key{};  ///< In version 1 the secret itself.
        LinkNonce nonce{};
    };

    /// What is to be done next; any number of the members may be set.
    struct Step {
        std::vector<std::byte> send;   ///< A message for the peer, with its length.
        std::vector<std::byte> seal;   ///< Have munge seal this, then on_sealed().
        std::string open;              ///< Have munge open this, then on_opened().
        std::optional<LinkKeys> keys;  ///< From here on all messages are sealed frames.
    };

    explicit Handshake(Start start);
    ~Handshake();
    Handshake(Handshake&&) = default;
    Handshake& operator=(Handshake&&) = delete;
    Handshake(const Handshake&) = delete;
    Handshake& operator=(const Handshake&) = delete;

    /// The connector's first message; nothing for an acceptor.
    [[nodiscard]] Step begin();
    /// One message of the peer, without its length. After an error: send refusal() if there is
    /// one, and close.
    Result<Step> on_message(Bytes message);
    Result<Step> on_sealed(const std::string& credential);
    Result<Step> on_opened(const OpenedCredential& opened);

    /// Whether a message of the peer is due. Its bytes wait while munge is asked.
    [[nodiscard]] bool expects_message() const;
    /// What the peer should be sent about the error just returned.
    [[nodiscard]] const std::optional<Refusal>& refusal() const { return refusal_; }

    [[nodiscard]] LinkRole role() const { return start_.role; }
    /// The highest common version, once the peer's greeting has arrived.
    [[nodiscard]] std::uint16_t version() const { return version_; }
    /// The names of both sides; an acceptor has only the connector's claims until that one is
    /// trusted.
    [[nodiscard]] const std::string& own_name() const { return start_.own_name; }
    [[nodiscard]] const std::string& peer_name() const { return start_.peer_name; }

  private:
    enum class Await : unsigned char { greeting, credential, munge, nothing };

    Result<Step> on_greeting(ByteReader& reader);
    Result<Step> on_credential(ByteReader& reader);
    [[nodiscard]] Error on_refusal(ByteReader& reader) const;
    [[nodiscard]] std::vector<std::byte> greeting();
    [[nodiscard]] std::vector<std::byte> payload();
    Status check_payload(Bytes payload);
    Error refuse(Refusal refusal, std::string sentence);
    [[nodiscard]] std::vector<std::byte> remember(std::vector<std::byte> message);
    [[nodiscard]] bool exchanges() const { return version_ >= kLinkVersionExchange; }
    [[nodiscard]] LinkKeys make_keys() const;

    Start start_;
    Await await_ = Await::greeting;
    std::uint16_t version_ = 0;
    VersionRange peer_versions_;
    LinkNonce peer_nonce_{};
    LinkSecret own_secret_{};   ///< What the credential holds: from version 2 on a public key.
    LinkSecret peer_secret_{};  ///< That of the peer.
    LinkSecret common_{};       ///< What both compute of them, from version 2 on.
    std::vector<std::byte> transcript_;
    std::optional<Refusal> refusal_;
};

/// A 4-byte length before a message, as both greetings and sealed frames have it.
[[nodiscard]] std::vector<std::byte> with_length(Bytes message);
[[nodiscard]] std::vector<std::byte> encode_refusal(const Refusal& refusal);

}  // namespace stage
