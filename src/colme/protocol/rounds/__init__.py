"""Three exchanges a round: releases, class sizes, consensus values."""
