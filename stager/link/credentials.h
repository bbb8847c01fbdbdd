// Who vouches for the daemon at the other end, without stopping ours?
//
// Munge does, and its two calls may block for seconds when munged is dead or stopped. So they
// are asked for here and answered later; a Link never waits. MungeClient (munge_client.h) is
// the real one; tests hand in another to meet credentials of any uid or age.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace stage {

/// What munge says of a credential. Travels between daemon and helper by number: append only.
enum class CredentialState : std::uint8_t {
    valid = 0,  ///< Also one that was decoded before: the reader's own nonce in it proves
                ///< freshness.
    expired = 1,
    rewound = 2,  ///< Made in our future.
    refused = 3,  ///< Not for us, of another key, garbage, ...: see `sentence`.
};

struct OpenedCredential {
    CredentialState state = CredentialState::refused;
    uid_t uid = static_cast<uid_t>(-1);  ///< Who made it. Meaningful unless refused.
    std::int64_t encoded_at = 0;         ///< Seconds since the epoch, by the maker's clock.
    std::int64_t decoded_at = 0;         ///< By ours.
    std::vector<std::byte> payload;
    std::string sentence;  ///< Munge's own words, if not valid.
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

    /// Wraps `payload` into a credential that only root can open. `done` is called later, never
    /// from within this call; its error says that munge could not be asked.
    virtual Ticket seal(Bytes payload, OnSealed done) = 0;
    /// Opens a stranger's credential. Same promises.
    virtual Ticket open(std::string credential, OnOpened done) = 0;
    /// The answer is not wanted any more: `done` will not be called. Unknown tickets are
    /// ignored.
    virtual void cancel(Ticket ticket) = 0;
};

}  // namespace stage
