#include "stager/cli/launch/card_gathering.h"

#include "pmix/launch_channel.h"
#include "stager/cli/launch/launch_words.h"
#include "stager/config/value.h"

#include <algorithm>

namespace stage {

CardGathering::CardGathering(Launcher launcher,
                             std::vector<std::string> names,
                             Duration longest)
    : launcher_{launcher},
      names_{std::move(names)},
      longest_{longest},
      cards_(names_.size()),
      why_(names_.size()),
      heard_(names_.size()) {
}

std::optional<std::string> CardGathering::look(const std::vector<Ended>& so_far,
                                               Clock::time_point now) {
    for (std::size_t command = 0; command < so_far.size(); ++command) {
        hear(command, so_far[command].out);
    }
    const auto is_there = [](const auto& card) { return !card.empty(); };
    if (std::ranges::all_of(cards_, is_there)) {
        return table_line(join_cards(cards_));
    }
    if (!first_at_ && std::ranges::any_of(cards_, is_there)) {
        first_at_ = now;
    }
    return has_failed(so_far, now) ? std::optional{std::string{}} : std::nullopt;
}

/// Only whole lines; the rest is heard with its end.
void CardGathering::hear(std::size_t command, const std::string& output) {
    const std::size_t begin = heard_[command];
    const std::string_view fresh = std::string_view{output}.substr(begin);
    const std::string text{launcher_ == Launcher::srun
                               ? whole_srun_lines(fresh)
                               : fresh.substr(0, fresh.rfind('\n') + 1)};
    heard_[command] = begin + text.size();
    if (launcher_ == Launcher::srun) {
        tasks_ = nodes_of_tasks(text, std::move(tasks_));
        for (const SaidLine& line : lines_by_task(text, tasks_, names_)) {
            take(line.node, line.text);
        }
    } else if (launcher_ == Launcher::ssh || command == 0) {
        for (const std::string& line : lines_of(text)) {
            take(command, line);
        }
    } else {
        for (const SaidLine& line : lines_by_node(text, names_)) {
            take(line.node, line.text);
        }
    }
}

void CardGathering::take(std::size_t rank, const std::string& line) {
    auto card = card_in(line);
    if (!card || !cards_[rank].empty()) {
        return;
    }
    put_rank(*card, Rank{static_cast<std::uint16_t>(rank)});
    const auto decoded = decode_card(*card);
    if (!decoded) {
        why_[rank] = decoded.error().sentence() +
                     "; install the same release of stagecast there as here";
        return;
    }
    for (const std::string& claim : claims_of(*decoded)) {
        if (!claimed_.insert(claim).second) {
            why_[rank] =
                "its card has the incarnation, or the address and port, of another node";
            return;
        }
    }
    cards_[rank] = *std::move(card);
}

/// A card that can't be used, a member that ended without one, or the end of the time.
bool CardGathering::has_failed(const std::vector<Ended>& so_far, Clock::time_point now) {
    const bool is_late = first_at_ && now - *first_at_ >= longest_;
    for (std::size_t rank = 0; rank < cards_.size(); ++rank) {
        const Ended& command = so_far[std::min(rank, so_far.size() - 1)];
        if (!cards_[rank].empty() || !why_[rank].empty()) {
            continue;
        }
        if (command.is_over) {
            why_[rank] = "ended without sending its business card";
        } else if (is_late) {
            why_[rank] = "sent no business card within " + write_seconds(longest_) +
                         " s; is the node overloaded, or does a start-up file of its login "
                         "shell (.bashrc) read its input?";
        }
    }
    return std::ranges::any_of(why_, [](const std::string& why) { return !why.empty(); });
}

}  // namespace stage
