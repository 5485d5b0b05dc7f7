"""git: fetching trees and histories."""
