#include "stager/daemon/gateway/ticket_code.h"

#include "transport/base/invariant.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <vector>

namespace stage {
namespace {

constexpr std::string_view kLabel = "stagecast ticket";

const unsigned char* raw(Bytes bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

std::vector<std::byte> code_of(const SharedKey& key, Bytes body) {
    const Bytes label = std::as_bytes(std::span{kLabel});
    std::vector<std::byte> proved{label.begin(), label.end()};
    proved.insert(proved.end(), body.begin(), body.end());
    std::vector<std::byte> code(kTicketCodeBytes);
    const bool is_made = ::HMAC(EVP_sha256(),
                                key.bytes().data(),
                                static_cast<int>(key.bytes().size()),
                                raw(proved),
                                proved.size(),
                                reinterpret_cast<unsigned char*>(code.data()),
                                nullptr) != nullptr;
    invariant(is_made, "OpenSSL computes HMAC-SHA256");
    return code;
}

}  // namespace

Result<std::string> sealed_ticket(const SharedKey& key, const ReadTicket& ticket) {
    const auto body = body_of(ticket);
    std::string text = ticket_text(body, code_of(key, body));
    if (text.size() > kMaxTicketText) {
        return Error{Blame::user, "the paths of the ticket are too long together"}.remedy(
            "name the directory that contains the files");
    }
    return text;
}

Result<ReadTicket> opened_ticket(const SharedKey& key, std::string_view text) {
    TRY(auto parsed, parse_ticket(text));
    const auto code = code_of(key, parsed.body);
    if (::CRYPTO_memcmp(code.data(), parsed.code.data(), kTicketCodeBytes) != 0) {
        return Error{Blame::user,
                     "the ticket was not issued there, or its TicketKey has changed"}
            .remedy("get a new one by stagecast ticket");
    }
    return std::move(parsed.ticket);
}

}  // namespace stage
