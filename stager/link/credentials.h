// Makes and checks the credentials by which daemons prove their identity.
//
// Munge's two calls may block for seconds if munged does not answer. So a question is put here
// and answered later; a Link never waits. MungeClient (munge_client.h) asks munge,
// KeyCredentials (key_credentials.h) needs a key file only; tests use another one, with
// credentials of any uid or age.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace stage {

/// The verdict on a credential. Encoded by number between daemon and helper: append only.
enum class CredentialState : std::uint8_t {
    valid = 0,  ///< Also one that was decoded before: the reader's own nonce in it proves
                ///< freshness.
    expired = 1,
    rewound = 2,  ///< Made in the future, by this node's clock.
    refused = 3,  ///< For another reader, of another key, malformed, ...: see `sentence`.
};

struct OpenedCredential {
    CredentialState state = CredentialState::refused;
    uid_t uid = static_cast<uid_t>(-1);  ///< The maker's. Meaningful unless refused.
    std::int64_t encoded_at = 0;         ///< Seconds since the epoch, by the maker's clock.
    std::int64_t decoded_at = 0;         ///< By this node's clock.
    std::vector<std::byte> payload;
    std::string sentence;  ///< Why it is refused.
};

/// What an administrator is asked to check, as questions.
struct CredentialRemedies {
    std::string differs;  ///< A credential was refused.
    std::string silent;   ///< The peer sends none.
};

class Credentials {
  public:
    using Ticket = std::uint64_t;  ///< Names a question; 0 names none.
    using OnSealed = std::function<void(Result<std::string>)>;
    using OnOpened = std::function<void(Result<OpenedCredential>)>;

    Credentials() = default;
    Credentials(const Credentials&) = delete;
    Credentials& operator=(const Credentials&) = delete;
    virtual ~Credentials() = default;

    /// Wraps `payload` into a credential that only root can open, or who else has the key for
    /// `peer`. That is the name at the link's other end, at an acceptor not proved yet. `done`
    /// is called later, never within this call; its error says that none could be made.
    virtual Ticket seal(const std::string& peer, Bytes payload, OnSealed done) = 0;
    /// Opens a credential that `peer` has sent; `done` is called as for seal().
    virtual Ticket open(const std::string& peer, std::string credential, OnOpened done) = 0;
    /// The answer is not wanted any more: `done` will not be called. Unknown tickets are
    /// ignored.
    virtual void cancel(Ticket ticket) = 0;
    /// `peer` as for seal(); empty at an acceptor that knows none.
    [[nodiscard]] virtual CredentialRemedies remedies(const std::string& peer) const = 0;
};

}  // namespace stage
