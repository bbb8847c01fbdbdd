// The result of one check of `stagecast doctor`.
//
// It is one line: fine, doubtful or wrong with a remedy, or unknown from here. Only `wrong`
// prevents staging.
#pragma once

#include "transport/base/result.h"

#include <string>
#include <vector>

namespace stage {

enum class Health : unsigned char { fine, doubtful, wrong, unknown };

struct Finding {
    Health health = Health::fine;
    std::string subject;   ///< "munge"
    std::string sentence;  ///< "answers in 2 ms", or the cause and the remedy.
};

[[nodiscard]] inline Finding fine(std::string subject, std::string sentence) {
    return {Health::fine, std::move(subject), std::move(sentence)};
}
[[nodiscard]] inline Finding wrong(std::string subject, std::string sentence) {
    return {Health::wrong, std::move(subject), std::move(sentence)};
}
[[nodiscard]] inline Finding doubtful(std::string subject, std::string sentence) {
    return {Health::doubtful, std::move(subject), std::move(sentence)};
}
[[nodiscard]] inline Finding unknown(std::string subject, std::string sentence) {
    return {Health::unknown, std::move(subject), std::move(sentence)};
}

}  // namespace stage
